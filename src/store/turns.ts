import { type ExpressionBuilder, sql } from 'kysely';
import type { Queries } from './query.ts';
import type { Schema } from './schema.ts';

/** The agents of a channel that have still to see what people said there, in the order in which they come. */
export function turnQueries({ db, all, one, run }: Queries) {
  const last = one((p: { channelId: string }) =>
    db
      .selectFrom('turns')
      .select((eb) => eb.fn.max('position').as('position'))
      .where('channel_id', '=', p.channelId),
  );
  const queue = run((p: { channelId: string; agentId: string; position: number }) =>
    db
      .insertInto('turns')
      .values({
        channel_id: p.channelId,
        agent_id: p.agentId,
        position: p.position,
        state: 'waiting',
        released_at: null,
      })
      .onConflict((oc) =>
        oc
          .columns(['channel_id', 'agent_id'])
          .doUpdateSet({ position: p.position, state: 'waiting', released_at: null }),
      ),
  );
  const setReleased = run((p: { channelId: string; agentId: string; now: number }) =>
    db
      .updateTable('turns')
      .set({ state: 'released', released_at: p.now })
      .where('channel_id', '=', p.channelId)
      .where('agent_id', '=', p.agentId),
  );
  const unhold = run((p: { channelId: string; agentId: string }) =>
    db
      .updateTable('deliveries')
      .set({ round: 1 })
      .where('agent_id', '=', p.agentId)
      .where('state', '=', 'pending')
      .where('round', '=', 2)
      .where('message_id', 'in', (eb) =>
        eb.selectFrom('messages').select('messages.id').where('messages.channel_id', '=', p.channelId),
      ),
  );
  const held = one((p: { channelId: string; agentId: string }) =>
    db
      .selectFrom('deliveries')
      .innerJoin('messages', 'messages.id', 'deliveries.message_id')
      .select('deliveries.message_id')
      .where('deliveries.agent_id', '=', p.agentId)
      .where('deliveries.state', '=', 'pending')
      .where('deliveries.round', '=', 2)
      .where('messages.channel_id', '=', p.channelId)
      .limit(1),
  );
  const open = one((p: { channelId: string; agentId: string }) =>
    db
      .selectFrom('deliveries')
      .innerJoin('messages', 'messages.id', 'deliveries.message_id')
      .select('deliveries.message_id')
      .where('deliveries.agent_id', '=', p.agentId)
      .where('deliveries.state', '=', 'pending')
      .where('deliveries.round', '<', 2)
      .where('deliveries.round', '=', 1)
      .where('messages.channel_id', '=', p.channelId)
      .limit(1),
  );
  const carried = one((p: { channelId: string; agentId: string }) =>
    db
      .selectFrom('runs')
      .innerJoin('deliveries', 'deliveries.run_id', 'runs.id')
      .innerJoin('messages', 'messages.id', 'deliveries.message_id')
      .select('deliveries.message_id')
      .where('runs.agent_id', '=', p.agentId)
      .where('runs.state', 'in', ['created', 'running'])
      .where('deliveries.state', '=', 'injected')
      .where('deliveries.round', '=', 1)
      .where('messages.channel_id', '=', p.channelId)
      .limit(1),
  );
  return {
    getTurn: one((p: { channelId: string; agentId: string }) =>
      db.selectFrom('turns').selectAll().where('channel_id', '=', p.channelId).where('agent_id', '=', p.agentId),
    ),
    /** In order, with whether the agent can run at all, and whether it is busy. */
    listTurns: all((p: { channelId: string; now: number }) =>
      db
        .selectFrom('turns')
        .innerJoin('agents', 'agents.id', 'turns.agent_id')
        .selectAll('turns')
        .select((eb) => [
          eb.case().when(canRun(eb, p.now)).then(sql.lit(1)).else(sql.lit(0)).end().as('able'),
          eb
            .selectFrom('runs')
            .select(eb.fn.countAll<number>().as('n'))
            .whereRef('runs.agent_id', '=', 'agents.id')
            .where('runs.state', '=', 'running')
            .where('runs.state', 'in', ['created', 'running'])
            .as('running'),
        ])
        .where('turns.channel_id', '=', p.channelId)
        .orderBy('turns.position'),
    ),
    /** Channels where somebody could begin and nobody's turn is under way: an agent there can run again. */
    listStalledRounds: all((p: { now: number }) =>
      db
        .selectFrom('turns')
        .innerJoin('agents', 'agents.id', 'turns.agent_id')
        .select('turns.channel_id')
        .distinct()
        .where('turns.state', '=', 'waiting')
        .where((eb) => canRun(eb, p.now))
        .where((eb) =>
          eb.not(
            eb.exists(
              eb
                .selectFrom('turns as begun')
                .select('begun.agent_id')
                .whereRef('begun.channel_id', '=', 'turns.channel_id')
                .where('begun.state', '=', 'released'),
            ),
          ),
        ),
    ),
    /** When the next agent that rests may take its turn. */
    getNextRested: one((p: { now: number }) =>
      db
        .selectFrom('turns')
        .innerJoin('agents', 'agents.id', 'turns.agent_id')
        .select((eb) => eb.fn.min('agents.rest_until').as('at'))
        .where('turns.state', '=', 'waiting')
        .where('agents.rest_until', '>', p.now),
    ),
    listTurnsOf: all((p: { agentId: string }) => db.selectFrom('turns').selectAll().where('agent_id', '=', p.agentId)),
    /** Whose turn has lasted so long that nobody waits for it any more. */
    listStaleTurns: all((p: { before: number }) =>
      db.selectFrom('turns').selectAll().where('state', '=', 'released').where('released_at', '<=', p.before),
    ),
    getOldestTurn: one((_: object) =>
      db
        .selectFrom('turns')
        .select((eb) => eb.fn.min('released_at').as('at'))
        .where('state', '=', 'released'),
    ),
    /** At the end of the line, also if it was in it before. */
    queueTurn: async (p: { channelId: string; agentId: string }): Promise<void> => {
      await queue({ ...p, position: ((await last({ channelId: p.channelId }))?.position ?? 0) + 1 });
    },
    /** It is the agent's turn: what was held back for it may be carried. */
    releaseTurn: async (p: { channelId: string; agentId: string; now: number }): Promise<void> => {
      await setReleased(p);
      await unhold(p);
    },
    /** The next one need not wait for it any more. */
    passTurn: run((p: { channelId: string; agentId: string }) =>
      db
        .updateTable('turns')
        .set({ state: 'passed' })
        .where('channel_id', '=', p.channelId)
        .where('agent_id', '=', p.agentId)
        .where('state', '=', 'released'),
    ),
    deleteTurn: run((p: { channelId: string; agentId: string }) =>
      db.deleteFrom('turns').where('channel_id', '=', p.channelId).where('agent_id', '=', p.agentId),
    ),
    /** What the agent has of the channel's turns: what it carries, what it may carry now, what is held back, nothing. */
    leftInTurn: async (p: { channelId: string; agentId: string }): Promise<'carried' | 'open' | 'held' | null> => {
      if (await carried(p)) return 'carried';
      if (await open(p)) return 'open';
      return (await held(p)) ? 'held' : null;
    },
  };
}

/** Ready, alive, not resting, not paused, and on a node that is known where nodes register. */
function canRun(eb: ExpressionBuilder<Schema, 'agents'>, now: number) {
  const nodes = () => eb.selectFrom('nodes').select('nodes.id');
  return eb.and([
    eb('agents.ready', '=', 1),
    eb('agents.terminated_at', 'is', null),
    eb('agents.rest_until', '<=', now),
    eb('agents.paused_at', 'is', null),
    eb.or([eb.exists(nodes().whereRef('nodes.id', '=', 'agents.node_id')), eb.not(eb.exists(nodes()))]),
  ]);
}
