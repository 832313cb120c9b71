import { sql } from 'kysely';
import type { Round } from '../core/delivery.ts';
import type { Broadcast } from '../core/message.ts';
import { ROUNDS } from './deliveries.ts';
import type { Queries } from './query.ts';
import type { Broadcasts } from './tx.ts';
import type { Respondent } from './views.ts';

export function broadcastQueries({ db, all, one, value, put, run }: Queries): Broadcasts {
  const open = () => db.selectFrom('broadcasts').selectAll('broadcasts').where('broadcasts.closedAt', 'is', null);
  const spoken = one((p: { runId: string; channelId: string }) =>
    db
      .selectFrom('messages')
      .select('messages.id')
      .where('messages.channelId', '=', p.channelId)
      .where('messages.runId', '=', p.runId)
      // What a run says comes after it, so the channel is not read from its beginning.
      .where('messages.seq', '>=', (eb) =>
        eb.fn.coalesce(eb.selectFrom('runs').select('runs.seq').where('runs.id', '=', p.runId), sql<number>`0`),
      )
      .limit(1),
  );
  const release = run((p: { id: string; agentId: string; round: number }) =>
    db
      .updateTable('deliveries')
      .set({ round: p.round })
      .where('agentId', '=', p.agentId)
      .where('state', '=', 'pending')
      .where('round', '=', 2)
      .where('messageId', 'in', (eb) =>
        eb.selectFrom('messages').select('messages.id').where('messages.inReplyTo', '=', p.id),
      ),
  );
  return {
    insertBroadcast: put((p: Omit<Broadcast, 'closedAt'>) =>
      db.insertInto('broadcasts').values({
        messageId: p.messageId,
        authorId: p.authorId,
        quiet: p.quiet,
        closesAt: p.closesAt,
        closedAt: null,
      }),
    ),
    getBroadcast: one((p: { id: string }) => db.selectFrom('broadcasts').selectAll().where('messageId', '=', p.id)),
    /** Compare and set, as for requests. */
    tryCloseBroadcast: one((p: { id: string; at: number }) =>
      db
        .updateTable('broadcasts')
        .set({ closedAt: p.at })
        .where('messageId', '=', p.id)
        .where('closedAt', 'is', null)
        .returningAll(),
    ),
    /** Open broadcasts that reached the agent. */
    listOpenBroadcastsTo: all((p: { agentId: string }) =>
      open().where((eb) =>
        eb.exists(
          eb
            .selectFrom('deliveries')
            .select('deliveries.seq')
            .whereRef('deliveries.messageId', '=', 'broadcasts.messageId')
            .where('deliveries.agentId', '=', p.agentId),
        ),
      ),
    ),
    listDueBroadcasts: all((p: { now: number }) => open().where('broadcasts.closesAt', '<=', p.now)),
    getNextBroadcastEnd: value(() =>
      db
        .selectFrom('broadcasts')
        .select((eb) => eb.fn.min('closesAt').as('at'))
        .where('closedAt', 'is', null),
    ),
    /** Its recipients, by name. */
    listRespondents: all((p: { id: string }) =>
      db
        .selectFrom('deliveries')
        .innerJoin('agents', 'agents.id', 'deliveries.agentId')
        .select((eb) => [
          'deliveries.agentId',
          'agents.name',
          'agents.provider',
          'deliveries.state',
          eb
            .selectFrom('runs')
            .select(eb.fn.countAll<number>().as('n'))
            .whereRef('runs.agentId', '=', 'agents.id')
            .where('runs.state', 'in', ['created', 'running'])
            .as('live'),
          eb
            .selectFrom('messages')
            .select(eb.fn.countAll<number>().as('n'))
            .where('messages.inReplyTo', '=', p.id)
            .whereRef('messages.authorId', '=', 'agents.id')
            .as('replies'),
        ])
        .where('deliveries.messageId', '=', p.id)
        .orderBy('agents.nameKey'),
    ) as (p: { id: string }) => Promise<Respondent[]>,
    /** Collected replies may now be carried. */
    releaseReplies: (p: { id: string; agentId: string; round: Round }) => release({ ...p, round: ROUNDS[p.round] }),
    /** Whether a run wrote in a channel. */
    hasSpoken: async (p: { runId: string; channelId: string }): Promise<boolean> => (await spoken(p)) !== null,
  };
}
