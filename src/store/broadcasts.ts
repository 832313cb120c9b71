import type { Queries } from './query.ts';
import type { BroadcastRow } from './schema.ts';

/** One of those whom a broadcast reached. */
export interface Respondent {
  readonly agent_id: string;
  readonly name: string;
  readonly provider: string;
  readonly state: 'pending' | 'injected' | 'acknowledged' | 'dead';
  /** Runs of the agent that are on their way. */
  readonly live: number;
  readonly replies: number;
}

export function broadcastQueries({ db, all, one, run }: Queries) {
  const open = () => db.selectFrom('broadcasts').selectAll('broadcasts').where('broadcasts.closed_at', 'is', null);
  const spoken = one((p: { runId: string; channelId: string }) =>
    db.selectFrom('messages').select('id').where('channel_id', '=', p.channelId).where('run_id', '=', p.runId).limit(1),
  );
  return {
    insertBroadcast: run((p: Omit<BroadcastRow, 'closed_at'>) =>
      db.insertInto('broadcasts').values({
        message_id: p.message_id,
        author_id: p.author_id,
        quiet: p.quiet,
        closes_at: p.closes_at,
        closed_at: null,
      }),
    ),
    getBroadcast: one((p: { id: string }) => db.selectFrom('broadcasts').selectAll().where('message_id', '=', p.id)),
    /** Compare and set, as for requests. */
    closeBroadcast: one((p: { id: string; at: number }) =>
      db
        .updateTable('broadcasts')
        .set({ closed_at: p.at })
        .where('message_id', '=', p.id)
        .where('closed_at', 'is', null)
        .returningAll(),
    ),
    /** Those that still collect and that reached the agent. */
    listOpenBroadcastsTo: all((p: { agentId: string }) =>
      open()
        .innerJoin('deliveries', 'deliveries.message_id', 'broadcasts.message_id')
        .where('deliveries.agent_id', '=', p.agentId),
    ),
    listDueBroadcasts: all((p: { now: number }) => open().where('broadcasts.closes_at', '<=', p.now)),
    getNextBroadcastEnd: one((_: object) =>
      db
        .selectFrom('broadcasts')
        .select((eb) => eb.fn.min('closes_at').as('at'))
        .where('closed_at', 'is', null),
    ),
    /** Whom it reached, by name. */
    listRespondents: all((p: { id: string }) =>
      db
        .selectFrom('deliveries')
        .innerJoin('agents', 'agents.id', 'deliveries.agent_id')
        .select((eb) => [
          'deliveries.agent_id',
          'agents.name',
          'agents.provider',
          'deliveries.state',
          eb
            .selectFrom('runs')
            .select(eb.fn.countAll<number>().as('n'))
            .whereRef('runs.agent_id', '=', 'agents.id')
            .where('runs.state', 'in', ['created', 'running'])
            .as('live'),
          eb
            .selectFrom('messages')
            .select(eb.fn.countAll<number>().as('n'))
            .where('messages.in_reply_to', '=', p.id)
            .whereRef('messages.author_id', '=', 'agents.id')
            .as('replies'),
        ])
        .where('deliveries.message_id', '=', p.id)
        .orderBy('agents.name_key'),
    ) as (p: { id: string }) => Promise<Respondent[]>,
    /** What was collected may be carried. */
    releaseReplies: run((p: { id: string; agentId: string; round: number }) =>
      db
        .updateTable('deliveries')
        .set({ round: p.round })
        .where('agent_id', '=', p.agentId)
        .where('state', '=', 'pending')
        .where('round', '=', 2)
        .where('message_id', 'in', (eb) =>
          eb.selectFrom('messages').select('messages.id').where('messages.in_reply_to', '=', p.id),
        ),
    ),
    /** Whether a run has said something in a channel. */
    hasSpoken: async (p: { runId: string; channelId: string }): Promise<boolean> => (await spoken(p)) !== null,
    /** Whether a run has called a tool with success. */
    countReturns: one((p: { runId: string; tool: string }) =>
      db
        .selectFrom('run_messages')
        .select((eb) => eb.fn.countAll<number>().as('n'))
        .where('run_id', '=', p.runId)
        .where('tool', '=', p.tool)
        .where('type', '=', 'tool_return_message')
        .where('is_error', '=', 0),
    ),
  };
}
