import { sql } from 'kysely';
import type { MessageId, RunId } from '../core/ids.ts';
import type { Message } from '../core/message.ts';
import type { Run } from '../core/run.ts';
import { isOneOf, listOf } from './key-list.ts';
import type { Queries } from './query.ts';

/** How work went from agent to agent: a run sends messages, and a message starts runs. */
export interface Traces {
  /** The runs that a message started, in order. */
  listStarted(p: { messageId: MessageId; limit: number }): Promise<TracedRun[]>;
  /** The runs that messages of these runs started, in order. */
  listCaused(p: { runIds: readonly RunId[]; limit: number }): Promise<TracedRun[]>;
  /** What a run sent, in order. */
  listSent(p: { runId: RunId; limit: number }): Promise<Message[]>;
}

export interface TracedRun extends Run {
  /** Of its agent. */
  readonly handle: string;
  /** The run that sent the message that started it; null if no run did. */
  readonly parentRunId: RunId | null;
}

/** After every number: of a run that may still send something. */
const NO_END = Number.MAX_SAFE_INTEGER;

export function traceQueries({ engine, db, all, one }: Queries): Traces {
  const runs = () =>
    db
      .selectFrom('messages')
      .innerJoin('runs', 'runs.triggerId', 'messages.id')
      .innerJoin('agents', 'agents.id', 'runs.agentId')
      .selectAll('runs')
      .select(['agents.handle', 'messages.runId as parentRunId'])
      .orderBy('runs.seq')
      .orderBy('runs.id');
  // An agent has one run at a time, so what a run sent is not after the agent's next one. A run that was opened again
  // ended after those that were made in between.
  const end = sql<number>`coalesce((select min(later.seq) from runs as later where later.agent_id = sender.agent_id
    and later.seq > sender.seq and later.created_at >= sender.ended_at), ${sql.lit(NO_END)})`;
  const elsewhere = sql<boolean>`substr(messages.channel_id, 1, 3) <> 'dm-'`;
  // Direct messages are the most and have no index by run, which would be one more page of every message.
  const caused = all((p: { list: string; limit: number }) =>
    runs()
      .where(
        'messages.id',
        'in',
        sql<string>`(select messages.id from messages
          where ${isOneOf(engine, 'messages.run_id', p.list, 'text')} and ${elsewhere}
          union all
          select messages.id from runs as sender
          cross join members cross join channels cross join messages
          where ${isOneOf(engine, 'sender.id', p.list, 'text')} and members.participant_id = sender.agent_id
            and channels.id = members.channel_id and channels.kind = 'dm'
            and messages.channel_id = members.channel_id and messages.run_id = sender.id
            and messages.seq >= sender.seq and messages.seq <= ${end})`,
      )
      .limit(p.limit),
  );
  const sender = one((p: { id: string }) =>
    db
      .selectFrom('runs as sender')
      .select(['id', 'seq', 'agentId', end.as('until')])
      .where('id', '=', p.id),
  );
  const directChannels = all((p: { agentId: string }) =>
    db
      .selectFrom('members')
      .innerJoin('channels', 'channels.id', 'members.channelId')
      .select('channels.id')
      .where('members.participantId', '=', p.agentId)
      .where('channels.kind', '=', 'dm'),
  );
  const sent = (limit: number) =>
    db.selectFrom('messages').selectAll().where('deletedAt', 'is', null).orderBy('seq').limit(limit);
  const sentTo = all((p: { channelId: string; id: string; seq: number; until: number; limit: number }) =>
    sent(p.limit)
      .where('channelId', '=', p.channelId)
      .where('seq', '>=', p.seq)
      .where('seq', '<=', p.until)
      .where('runId', '=', p.id),
  );
  const sentElsewhere = all((p: { id: string; limit: number }) =>
    sent(p.limit).where('runId', '=', p.id).where(elsewhere),
  );
  return {
    listStarted: all((p: { messageId: string; limit: number }) =>
      runs().where('messages.id', '=', p.messageId).limit(p.limit),
    ),
    listCaused: ({ runIds, limit }) => caused({ list: listOf(engine, runIds), limit }),
    listSent: async ({ runId: id, limit }) => {
      const run = await sender({ id });
      if (!run) return [];
      const channels = await directChannels(run);
      const found = await Promise.all([
        sentElsewhere({ id, limit }),
        ...channels.map((channel) => sentTo({ channelId: channel.id, id, seq: run.seq, until: run.until, limit })),
      ]);
      return found
        .flat()
        .sort((a, b) => a.seq - b.seq)
        .slice(0, limit);
    },
  };
}
