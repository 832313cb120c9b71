import { type ExpressionBuilder, sql } from 'kysely';
import type { Queries } from './query.ts';
import type { Schema } from './schema.ts';
import { passesGate } from './trees.ts';
import type { Rounds } from './tx.ts';

/** The agents of a channel that have yet to see people's posts, in turn order. */
export function roundQueries({ db, all, one, value, put, run, change, attempt }: Queries): Rounds {
  const last = value((p: { channelId: string }) =>
    db
      .selectFrom('turns')
      .select((eb) => eb.fn.max('position').as('position'))
      .where('channelId', '=', p.channelId),
  );
  const queue = put((p: { channelId: string; agentId: string; position: number }) =>
    db
      .insertInto('turns')
      .values({
        channelId: p.channelId,
        agentId: p.agentId,
        position: p.position,
        state: 'waiting',
        releasedAt: null,
      })
      .onConflict((oc) =>
        oc.columns(['channelId', 'agentId']).doUpdateSet({ position: p.position, state: 'waiting', releasedAt: null }),
      ),
  );
  const setReleased = change('place', (p: { channelId: string; agentId: string; now: number }) =>
    db
      .updateTable('turns')
      .set({ state: 'released', releasedAt: p.now })
      .where('channelId', '=', p.channelId)
      .where('agentId', '=', p.agentId),
  );
  const unhold = run((p: { channelId: string; agentId: string }) =>
    db
      .updateTable('deliveries')
      .set({ round: 1 })
      .where('agentId', '=', p.agentId)
      .where('state', '=', 'pending')
      .where('round', '=', 2)
      .where('messageId', 'in', (eb) =>
        eb.selectFrom('messages').select('messages.id').where('messages.channelId', '=', p.channelId),
      ),
  );
  const held = one((p: { channelId: string; agentId: string }) =>
    db
      .selectFrom('deliveries')
      .innerJoin('messages', 'messages.id', 'deliveries.messageId')
      .select('deliveries.messageId')
      .where('deliveries.agentId', '=', p.agentId)
      .where('deliveries.state', '=', 'pending')
      .where('deliveries.round', '=', 2)
      .where('messages.channelId', '=', p.channelId)
      .limit(1),
  );
  const open = one((p: { channelId: string; agentId: string }) =>
    db
      .selectFrom('deliveries')
      .innerJoin('messages', 'messages.id', 'deliveries.messageId')
      .select('deliveries.messageId')
      .where('deliveries.agentId', '=', p.agentId)
      .where('deliveries.state', '=', 'pending')
      .where('deliveries.round', '<', 2)
      .where('deliveries.round', '=', 1)
      .where('messages.channelId', '=', p.channelId)
      .limit(1),
  );
  const carried = one((p: { channelId: string; agentId: string }) =>
    db
      .selectFrom('runs')
      .innerJoin('deliveries', 'deliveries.runId', 'runs.id')
      .innerJoin('messages', 'messages.id', 'deliveries.messageId')
      .select('deliveries.messageId')
      .where('runs.agentId', '=', p.agentId)
      .where('runs.state', 'in', ['created', 'running'])
      .where('deliveries.state', '=', 'injected')
      .where('deliveries.round', '=', 1)
      .where('messages.channelId', '=', p.channelId)
      .limit(1),
  );
  return {
    getPlace: one((p: { channelId: string; agentId: string }) =>
      db.selectFrom('turns').selectAll().where('channelId', '=', p.channelId).where('agentId', '=', p.agentId),
    ),
    /** In order, with whether the agent can run at all, and whether it is busy. */
    listPlaces: all((p: { channelId: string; now: number }) =>
      db
        .selectFrom('turns')
        .innerJoin('agents', 'agents.id', 'turns.agentId')
        .selectAll('turns')
        .select((eb) => [
          eb.case().when(canRun(eb, p.now)).then(sql<boolean>`1`).else(sql<boolean>`0`).end().as('able'),
          eb
            .selectFrom('runs')
            .select(eb.fn.countAll<number>().as('n'))
            .whereRef('runs.agentId', '=', 'agents.id')
            .where('runs.state', '=', 'running')
            .where('runs.state', 'in', ['created', 'running'])
            .$asScalar()
            .$notNull()
            .as('running'),
        ])
        .where('turns.channelId', '=', p.channelId)
        .orderBy('turns.position'),
    ),
    /** Channels where an agent could begin and no turn is in progress, because an agent can run again. */
    listStalledRounds: all((p: { now: number }) =>
      db
        .selectFrom('turns')
        .innerJoin('agents', 'agents.id', 'turns.agentId')
        .select('turns.channelId')
        .distinct()
        .where('turns.state', '=', 'waiting')
        .where((eb) => canRun(eb, p.now))
        .where((eb) =>
          eb.not(
            eb.exists(
              eb
                .selectFrom('turns as begun')
                .select('begun.agentId')
                .whereRef('begun.channelId', '=', 'turns.channelId')
                .where('begun.state', '=', 'released'),
            ),
          ),
        ),
    ),
    /** When the next resting agent may take its turn. */
    getNextRested: value((p: { now: number }) =>
      db
        .selectFrom('turns')
        .innerJoin('agents', 'agents.id', 'turns.agentId')
        .select((eb) => eb.fn.min('agents.restUntil').as('at'))
        .where('turns.state', '=', 'waiting')
        .where('agents.restUntil', '>', p.now),
    ),
    listPlacesOf: all((p: { agentId: string }) => db.selectFrom('turns').selectAll().where('agentId', '=', p.agentId)),
    /** Turns that have lasted so long that nobody waits for them any more. */
    listStalePlaces: all((p: { before: number }) =>
      db.selectFrom('turns').selectAll().where('state', '=', 'released').where('releasedAt', '<=', p.before),
    ),
    getOldestRelease: value(() =>
      db
        .selectFrom('turns')
        .select((eb) => eb.fn.min('releasedAt').as('at'))
        .where('state', '=', 'released'),
    ),
    /** Puts it at the end, even if it had a place before. */
    queuePlace: async (p: { channelId: string; agentId: string }): Promise<void> => {
      await queue({ ...p, position: ((await last({ channelId: p.channelId })) ?? 0) + 1 });
    },
    /** It is the agent's turn: what was held for it may be carried. */
    releasePlace: async (p: { channelId: string; agentId: string; now: number }): Promise<void> => {
      await setReleased(p);
      await unhold(p);
    },
    /** The next agent no longer waits for it. */
    tryPassPlace: attempt((p: { channelId: string; agentId: string }) =>
      db
        .updateTable('turns')
        .set({ state: 'passed' })
        .where('channelId', '=', p.channelId)
        .where('agentId', '=', p.agentId)
        .where('state', '=', 'released'),
    ),
    tryDeletePlace: attempt((p: { channelId: string; agentId: string }) =>
      db.deleteFrom('turns').where('channelId', '=', p.channelId).where('agentId', '=', p.agentId),
    ),
    /** What is left of the agent's turn: carried, open or held deliveries, or nothing. */
    leftInPlace: async (p: { channelId: string; agentId: string }): Promise<'carried' | 'open' | 'held' | null> => {
      if (await carried(p)) return 'carried';
      if (await open(p)) return 'open';
      return (await held(p)) ? 'held' : null;
    },
  };
}

/** Ready, living, not resting, not paused, not waiting for a budget, and, if nodes register, on one that starts runs. */
function canRun(eb: ExpressionBuilder<Schema, 'agents'>, now: number) {
  const nodes = () => eb.selectFrom('nodes').select('nodes.id');
  const working = nodes()
    .whereRef('nodes.id', '=', 'agents.nodeId')
    .where('nodes.lostAt', 'is', null)
    .where('nodes.drainingAt', 'is', null);
  const parked = eb
    .selectFrom('runs')
    .select('runs.id')
    .whereRef('runs.agentId', '=', 'agents.id')
    .where('runs.state', 'in', ['created', 'running'])
    .where('runs.budgetId', 'is not', null);
  return eb.and([
    eb('agents.ready', '=', true),
    eb('agents.terminatedAt', 'is', null),
    eb('agents.restUntil', '<=', now),
    eb('agents.pausedAt', 'is', null),
    passesGate(eb),
    eb.not(eb.exists(parked)),
    eb.or([eb.exists(working), eb.not(eb.exists(nodes()))]),
  ]);
}
