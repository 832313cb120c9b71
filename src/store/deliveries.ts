import { type ExpressionBuilder, sql } from 'kysely';
import type { Delivery, Round } from '../core/delivery.ts';
import type { BatchState } from './batch.ts';
import type { Queries } from './query.ts';
import type { Schema } from './schema.ts';
import type { Deliveries } from './tx.ts';

/** The values of the column: below `held` can be carried, below `free` wakes nobody. */
export const ROUNDS = { quiet: -1, free: 0, turn: 1, held: 2 } as const satisfies Record<Round, number>;

export function deliveryQueries({ db, all, one, put, run, change }: Queries, batch: BatchState): Deliveries {
  /** Without texts, which can be long. */
  const heads = () =>
    db
      .selectFrom('deliveries')
      .innerJoin('messages', 'messages.id', 'deliveries.messageId')
      .innerJoin('channels', 'channels.id', 'messages.channelId')
      .innerJoin('participants', 'participants.id', 'messages.authorId')
      .leftJoin('agents', 'agents.id', 'messages.authorId')
      .leftJoin('broadcasts', 'broadcasts.messageId', 'messages.id')
      .leftJoin('requests as own', 'own.messageId', 'messages.id')
      .leftJoin('requests as answered', 'answered.messageId', 'messages.inReplyTo')
      .leftJoin('requests as parent', (join) =>
        join.onRef('parent.messageId', '=', 'answered.parentId').on('parent.state', '=', 'open'),
      )
      .select([
        'deliveries.messageId',
        'deliveries.seq',
        'deliveries.state',
        'deliveries.kind as deliveryKind',
        'messages.kind',
        'messages.channelId',
        'messages.threadId',
        'channels.kind as channelKind',
        'channels.teamOf',
        'messages.authorId',
        'messages.inReplyTo',
        'messages.late',
        'messages.chainDepth',
        'messages.trace',
        'messages.payerId',
        'participants.kind as authorKind',
        'participants.handle as authorHandle',
        'agents.name as authorName',
        'messages.cause',
        'broadcasts.messageId as broadcast',
        'own.state as requestState',
        'parent.messageId as parentRequest',
      ])
      .orderBy('deliveries.seq');
  const views = () => heads().select('messages.text');
  const insert = put((p: Omit<Delivery, 'state' | 'runId' | 'round'> & { readonly round: number }) =>
    db.insertInto('deliveries').values({
      messageId: p.messageId,
      agentId: p.agentId,
      seq: p.seq,
      kind: p.kind,
      state: 'pending',
      runId: null,
      round: p.round,
    }),
  );
  const carrying = one((p: { runId: string; authorId: string }) =>
    db
      .selectFrom('deliveries')
      .innerJoin('messages', 'messages.id', 'deliveries.messageId')
      .select('messages.id')
      .where('deliveries.runId', '=', p.runId)
      .where('deliveries.state', '=', 'injected')
      .where('messages.authorId', '=', p.authorId)
      .limit(1),
  );
  // One statement each, because each has its own index.
  const killPendingTo = run((p: { agentId: string }) =>
    db
      .updateTable('deliveries')
      .set({ state: 'dead' })
      .where('agentId', '=', p.agentId)
      .where('state', '=', 'pending')
      .where('round', '<', 2),
  );
  const killHeldTo = run((p: { agentId: string }) =>
    db
      .updateTable('deliveries')
      .set({ state: 'dead' })
      .where('agentId', '=', p.agentId)
      .where('state', '=', 'pending')
      .where('round', '=', 2),
  );
  const ofChannel = (eb: ExpressionBuilder<Schema, 'deliveries'>, channelId: string) =>
    eb.exists(
      eb
        .selectFrom('messages')
        .select('messages.id')
        .whereRef('messages.id', '=', 'deliveries.messageId')
        .where('messages.channelId', '=', channelId),
    );
  const killPendingIn = run((p: { agentId: string; channelId: string }) =>
    db
      .updateTable('deliveries')
      .set({ state: 'dead' })
      .where('agentId', '=', p.agentId)
      .where('state', '=', 'pending')
      .where('round', '<', 2)
      .where((eb) => ofChannel(eb, p.channelId)),
  );
  const killHeldIn = run((p: { agentId: string; channelId: string }) =>
    db
      .updateTable('deliveries')
      .set({ state: 'dead' })
      .where('agentId', '=', p.agentId)
      .where('state', '=', 'pending')
      .where('round', '=', 2)
      .where((eb) => ofChannel(eb, p.channelId)),
  );
  const killInjectedTo = run((p: { agentId: string }) =>
    db
      .updateTable('deliveries')
      .set({ state: 'dead' })
      .where('runId', 'in', (eb) => eb.selectFrom('runs').select('runs.id').where('runs.agentId', '=', p.agentId))
      .where('agentId', '=', p.agentId)
      .where('state', '=', 'injected'),
  );
  return {
    insertDelivery: async (p: Omit<Delivery, 'seq' | 'state' | 'runId'>): Promise<void> => {
      await insert({ ...p, seq: batch.seq, round: ROUNDS[p.round] });
    },
    listPending: all((p: { agentId: string; limit: number }) =>
      views()
        .where('deliveries.agentId', '=', p.agentId)
        .where('deliveries.state', '=', 'pending')
        .where('deliveries.round', '<', 2)
        .limit(p.limit),
    ),
    /** Without texts, which can be long: only what decides which run carries them, and their lengths. */
    listPendingSizes: all((p: { agentId: string; limit: number }) =>
      views()
        .clearSelect()
        .select([
          'deliveries.messageId',
          'deliveries.kind as deliveryKind',
          'messages.kind',
          'messages.late',
          'messages.authorId',
          'messages.payerId',
          'participants.handle as authorHandle',
          'agents.name as authorName',
          'parent.messageId as parentRequest',
          sql<number>`length(messages.text)`.as('size'),
        ])
        .where('deliveries.agentId', '=', p.agentId)
        .where('deliveries.state', '=', 'pending')
        .where('deliveries.round', '<', 2)
        .limit(p.limit),
    ),
    /** Without texts, which can be long: only what decides which news may be read. */
    listPendingHeads: all((p: { agentId: string; limit: number }) =>
      db
        .selectFrom('deliveries')
        .innerJoin('messages', 'messages.id', 'deliveries.messageId')
        .select(['messages.authorId', 'deliveries.kind as deliveryKind'])
        .where('deliveries.agentId', '=', p.agentId)
        .where('deliveries.state', '=', 'pending')
        .where('deliveries.round', '<', 2)
        .orderBy('deliveries.seq')
        .limit(p.limit),
    ),
    isCarrying: async (p: { runId: string; authorId: string }): Promise<boolean> => (await carrying(p)) !== null,
    /** What a run carries, in order. */
    listCarried: all((p: { runId: string }) =>
      views().where('deliveries.runId', '=', p.runId).where('deliveries.state', '=', 'injected'),
    ),
    listDeliveriesOfRun: all((p: { runId: string }) => views().where('deliveries.runId', '=', p.runId)),
    listHeadsOfRun: all((p: { runId: string }) => heads().where('deliveries.runId', '=', p.runId)),
    listExcerptsOfRun: all((p: { runId: string; longest: number }) =>
      heads()
        .select(sql<string>`substr(messages.text, 1, ${p.longest})`.as('text'))
        .where('deliveries.runId', '=', p.runId),
    ),
    injectDelivery: change('pending delivery', (p: { messageId: string; agentId: string; runId: string }) =>
      db
        .updateTable('deliveries')
        .set({ state: 'injected', runId: p.runId })
        .where('messageId', '=', p.messageId)
        .where('agentId', '=', p.agentId)
        .where('state', '=', 'pending'),
    ),
    acknowledgeDelivery: change('open delivery', (p: { messageId: string; agentId: string }) =>
      db
        .updateTable('deliveries')
        .set({ state: 'acknowledged' })
        .where('messageId', '=', p.messageId)
        .where('agentId', '=', p.agentId)
        .where('state', 'in', ['pending', 'injected']),
    ),
    /** For a request that is answered before a run carries it; a carried one ends with its run, through all retries. */
    acknowledgePending: put((p: { messageId: string; agentId: string }) =>
      db
        .updateTable('deliveries')
        .set({ state: 'acknowledged' })
        .where('messageId', '=', p.messageId)
        .where('agentId', '=', p.agentId)
        .where('state', '=', 'pending'),
    ),
    returnDelivery: change('carried delivery', (p: { messageId: string; agentId: string }) =>
      db
        .updateTable('deliveries')
        .set({ state: 'pending', runId: null })
        .where('messageId', '=', p.messageId)
        .where('agentId', '=', p.agentId)
        .where('state', '=', 'injected'),
    ),
    /** Everything that a run carried ends together. */
    endCarried: put((p: { runId: string; state: 'acknowledged' | 'dead' }) =>
      db.updateTable('deliveries').set({ state: p.state }).where('runId', '=', p.runId).where('state', '=', 'injected'),
    ),
    /** What a failed run carried is carried again, if its message still exists. Returns how many. */
    reviveCarried: run((p: { runId: string }) =>
      db
        .updateTable('deliveries')
        .set({ state: 'injected' })
        .where('runId', '=', p.runId)
        .where('state', '=', 'dead')
        .where('messageId', 'in', (eb) =>
          eb.selectFrom('messages').select('messages.id').where('deletedAt', 'is', null),
        ),
    ),
    /** Drops pending deliveries that nobody waits for; a turn that already carries one keeps it. */
    killPendingDelivery: run((p: { messageId: string }) =>
      db
        .updateTable('deliveries')
        .set({ state: 'dead' })
        .where('messageId', '=', p.messageId)
        .where('state', '=', 'pending'),
    ),
    /** The agents that have not received a message yet. */
    listPendingRecipients: all((p: { messageId: string }) =>
      db.selectFrom('deliveries').select('agentId').where('messageId', '=', p.messageId).where('state', '=', 'pending'),
    ),
    /** Drops messages of a channel that the agent has left. */
    killDeliveriesIn: async (p: { agentId: string; channelId: string }): Promise<number> =>
      (await killPendingIn(p)) + (await killHeldIn(p)),
    killDeliveriesTo: async (p: { agentId: string }): Promise<number> =>
      (await killPendingTo(p)) + (await killHeldTo(p)) + (await killInjectedTo(p)),
  };
}
