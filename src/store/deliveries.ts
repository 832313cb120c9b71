import { sql } from 'kysely';
import type { Queries } from './query.ts';
import type { DeliveryKind, DeliveryRow, MessageRow } from './schema.ts';

/** A delivery with its message and what decides which run carries it. */
export interface DeliveryView extends Pick<DeliveryRow, 'message_id' | 'seq' | 'state' | 'round'> {
  readonly delivery_kind: DeliveryKind;
  readonly kind: MessageRow['kind'];
  readonly channel_id: string;
  readonly channel_kind: 'public' | 'private' | 'dm';
  readonly team_of: string | null;
  readonly thread_id: string | null;
  readonly author_id: string;
  readonly text: string;
  readonly in_reply_to: string | null;
  readonly late: number;
  readonly chain_depth: number;
  readonly trace: string | null;
  readonly payer_id: string | null;
  readonly author_kind: 'agent' | 'person' | 'system';
  readonly author_name: string | null;
  readonly author_handle: string;
  /** Its own id, for a broadcast whose replies are collected. */
  readonly broadcast: string | null;
  /** For a request: whether it still waits. */
  readonly request_state: 'open' | 'closed' | null;
  /** For a reply: the request that the asking run served, if that is still open. */
  readonly parent_request: string | null;
}

export function deliveryQueries({ db, all, run, one }: Queries) {
  const views = () =>
    db
      .selectFrom('deliveries')
      .innerJoin('messages', 'messages.id', 'deliveries.message_id')
      .innerJoin('channels', 'channels.id', 'messages.channel_id')
      .innerJoin('participants', 'participants.id', 'messages.author_id')
      .leftJoin('agents', 'agents.id', 'messages.author_id')
      .leftJoin('broadcasts', 'broadcasts.message_id', 'messages.id')
      .leftJoin('requests as own', 'own.message_id', 'messages.id')
      .leftJoin('requests as answered', 'answered.message_id', 'messages.in_reply_to')
      .leftJoin('requests as parent', (join) =>
        join.onRef('parent.message_id', '=', 'answered.parent_id').on('parent.state', '=', 'open'),
      )
      .select([
        'deliveries.message_id',
        'deliveries.seq',
        'deliveries.state',
        'deliveries.round',
        'deliveries.kind as delivery_kind',
        'messages.kind',
        'messages.channel_id',
        'messages.thread_id',
        'channels.kind as channel_kind',
        'channels.team_of',
        'messages.author_id',
        'messages.text',
        'messages.in_reply_to',
        'messages.late',
        'messages.chain_depth',
        'messages.trace',
        'messages.payer_id',
        'participants.kind as author_kind',
        'participants.handle as author_handle',
        'agents.name as author_name',
        'broadcasts.message_id as broadcast',
        'own.state as request_state',
        'parent.message_id as parent_request',
      ])
      .orderBy('deliveries.seq');
  const carrying = one((p: { runId: string; authorId: string }) =>
    db
      .selectFrom('deliveries')
      .innerJoin('messages', 'messages.id', 'deliveries.message_id')
      .select('messages.id')
      .where('deliveries.run_id', '=', p.runId)
      .where('deliveries.state', '=', 'injected')
      .where('messages.author_id', '=', p.authorId)
      .limit(1),
  );
  // A statement each, because each has an index of its own.
  const killPendingTo = run((p: { agentId: string }) =>
    db
      .updateTable('deliveries')
      .set({ state: 'dead' })
      .where('agent_id', '=', p.agentId)
      .where('state', '=', 'pending')
      .where('round', '<', 2),
  );
  const killHeldTo = run((p: { agentId: string }) =>
    db
      .updateTable('deliveries')
      .set({ state: 'dead' })
      .where('agent_id', '=', p.agentId)
      .where('state', '=', 'pending')
      .where('round', '=', 2),
  );
  const killInjectedTo = run((p: { agentId: string }) =>
    db
      .updateTable('deliveries')
      .set({ state: 'dead' })
      .where('run_id', 'in', (eb) => eb.selectFrom('runs').select('runs.id').where('runs.agent_id', '=', p.agentId))
      .where('agent_id', '=', p.agentId)
      .where('state', '=', 'injected'),
  );
  return {
    insertDelivery: run((p: Pick<DeliveryRow, 'message_id' | 'agent_id' | 'seq' | 'kind' | 'round'>) =>
      db.insertInto('deliveries').values({
        message_id: p.message_id,
        agent_id: p.agent_id,
        seq: p.seq,
        kind: p.kind,
        state: 'pending',
        run_id: null,
        round: p.round,
      }),
    ),
    listPending: all((p: { agentId: string; limit: number }) =>
      views()
        .where('deliveries.agent_id', '=', p.agentId)
        .where('deliveries.state', '=', 'pending')
        .where('deliveries.round', '<', 2)
        .limit(p.limit),
    ),
    /** Without texts, which can be long: what decides which run carries them, and how many characters they have. */
    listPendingSizes: all((p: { agentId: string; limit: number }) =>
      views()
        .clearSelect()
        .select([
          'deliveries.message_id',
          'deliveries.kind as delivery_kind',
          'messages.author_id',
          'messages.payer_id',
          'parent.message_id as parent_request',
          sql<number>`length(messages.text)`.as('size'),
        ])
        .where('deliveries.agent_id', '=', p.agentId)
        .where('deliveries.state', '=', 'pending')
        .where('deliveries.round', '<', 2)
        .limit(p.limit),
    ),
    /** Without texts, which can be long: only what tells news that may be read from news that may not. */
    listPendingHeads: all((p: { agentId: string; limit: number }) =>
      db
        .selectFrom('deliveries')
        .innerJoin('messages', 'messages.id', 'deliveries.message_id')
        .select(['messages.author_id', 'deliveries.kind as delivery_kind'])
        .where('deliveries.agent_id', '=', p.agentId)
        .where('deliveries.state', '=', 'pending')
        .where('deliveries.round', '<', 2)
        .orderBy('deliveries.seq')
        .limit(p.limit),
    ),
    countPendingNews: one((p: { agentId: string }) =>
      db
        .selectFrom('deliveries')
        .select((eb) => eb.fn.countAll<number>().as('n'))
        .where('agent_id', '=', p.agentId)
        .where('state', '=', 'pending')
        .where('round', '<', 2)
        .where('kind', '=', 'news'),
    ),
    isCarrying: async (p: { runId: string; authorId: string }): Promise<boolean> => (await carrying(p)) !== null,
    /** What a run carries, in order. */
    listCarried: all((p: { runId: string }) =>
      views().where('deliveries.run_id', '=', p.runId).where('deliveries.state', '=', 'injected'),
    ),
    listDeliveriesOfRun: all((p: { runId: string }) => views().where('deliveries.run_id', '=', p.runId)),
    injectDelivery: run((p: { messageId: string; agentId: string; runId: string }) =>
      db
        .updateTable('deliveries')
        .set({ state: 'injected', run_id: p.runId })
        .where('message_id', '=', p.messageId)
        .where('agent_id', '=', p.agentId)
        .where('state', '=', 'pending'),
    ),
    acknowledgeDelivery: run((p: { messageId: string; agentId: string }) =>
      db
        .updateTable('deliveries')
        .set({ state: 'acknowledged' })
        .where('message_id', '=', p.messageId)
        .where('agent_id', '=', p.agentId)
        .where('state', 'in', ['pending', 'injected']),
    ),
    /** For a request that is answered before a run carries it; one that is carried ends with its run, however often that is tried. */
    acknowledgePending: run((p: { messageId: string; agentId: string }) =>
      db
        .updateTable('deliveries')
        .set({ state: 'acknowledged' })
        .where('message_id', '=', p.messageId)
        .where('agent_id', '=', p.agentId)
        .where('state', '=', 'pending'),
    ),
    returnDelivery: run((p: { messageId: string; agentId: string }) =>
      db
        .updateTable('deliveries')
        .set({ state: 'pending', run_id: null })
        .where('message_id', '=', p.messageId)
        .where('agent_id', '=', p.agentId)
        .where('state', '=', 'injected'),
    ),
    /** Everything that a run carried ends together. */
    endCarried: run((p: { runId: string; state: 'acknowledged' | 'dead' }) =>
      db
        .updateTable('deliveries')
        .set({ state: p.state })
        .where('run_id', '=', p.runId)
        .where('state', '=', 'injected'),
    ),
    /** What nobody waits for any more; a turn that has it already keeps it. */
    killPendingDelivery: run((p: { messageId: string }) =>
      db
        .updateTable('deliveries')
        .set({ state: 'dead' })
        .where('message_id', '=', p.messageId)
        .where('state', '=', 'pending'),
    ),
    /** Who has still to get a message. */
    listPendingRecipients: all((p: { messageId: string }) =>
      db
        .selectFrom('deliveries')
        .select('agent_id')
        .where('message_id', '=', p.messageId)
        .where('state', '=', 'pending'),
    ),
    /** What was said in a channel that the agent has left. */
    killDeliveriesIn: run((p: { agentId: string; channelId: string }) =>
      db
        .updateTable('deliveries')
        .set({ state: 'dead' })
        .where('agent_id', '=', p.agentId)
        .where('state', '=', 'pending')
        .where('message_id', 'in', (eb) =>
          eb.selectFrom('messages').select('messages.id').where('messages.channel_id', '=', p.channelId),
        ),
    ),
    killDeliveriesTo: async (p: { agentId: string }): Promise<number> =>
      (await killPendingTo(p)) + (await killHeldTo(p)) + (await killInjectedTo(p)),
  };
}
