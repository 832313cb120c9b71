import type { BatchState } from './batch.ts';
import type { Queries } from './query.ts';
import type { Runs } from './tx.ts';
import type { LeaseHolder, RunSeen } from './views.ts';

export type LeaseQueries = Pick<
  Runs,
  'setDeaths' | 'clearDeaths' | 'renewLeases' | 'listLeased' | 'shiftWaits' | 'endWaits'
>;

/** Leases of running runs, daemon deaths during runs, and waits when the clock is set. */
export function leaseQueries({ db, all, run, change, fetch }: Queries, batch: BatchState): LeaseQueries {
  const shiftRests = run((p: { nodeId: string; by: number; now: number }) =>
    db
      .updateTable('agents')
      .set((eb) => ({ restUntil: eb('restUntil', '+', p.by) }))
      .where('nodeId', '=', p.nodeId)
      .where('restUntil', '>', p.now),
  );
  const shiftStarts = run((p: { nodeId: string; by: number; now: number }) =>
    db
      .updateTable('runs')
      .set((eb) => ({ notBefore: eb('notBefore', '+', p.by) }))
      .where('state', '=', 'created')
      .where('nodeId', '=', p.nodeId)
      .where('notBefore', '>', p.now),
  );
  const endRest = run((p: { agentId: string }) =>
    db.updateTable('agents').set({ restUntil: 0, rests: 0, restTold: false }).where('id', '=', p.agentId),
  );
  const endLimits = run((p: { agentId: string }) => db.deleteFrom('provider_limits').where('agentId', '=', p.agentId));
  const endDelay = run((p: { agentId: string }) =>
    db.updateTable('runs').set({ notBefore: 0 }).where('agentId', '=', p.agentId).where('state', '=', 'created'),
  );
  const shiftLimits = run((p: { nodeId: string; by: number; now: number }) =>
    db
      .updateTable('provider_limits')
      .set((eb) => ({ until: eb('until', '+', p.by) }))
      .where('nodeId', '=', p.nodeId)
      .where('until', '>', p.now),
  );
  const clampTurns = run((p: { now: number }) =>
    db.updateTable('turns').set({ releasedAt: p.now }).where('releasedAt', '>', p.now),
  );

  return {
    setDeaths: change('run', (p: { id: string; deaths: number; deathsEver: number; records: number }) =>
      db
        .updateTable('runs')
        .set({ deaths: p.deaths, deathsEver: p.deathsEver, recordsAtDeath: p.records })
        .where('id', '=', p.id),
    ),
    /** None of the node's runs is a suspect any more. */
    clearDeaths: run((p: { nodeId: string }) =>
      db
        .updateTable('runs')
        .set({ deaths: 0, deathsEver: 0, recordsAtDeath: 0 })
        .where('nodeId', '=', p.nodeId)
        .where('state', 'in', ['created', 'running'])
        .where('deaths', '>', 0),
    ),
    /** Of the runs that this daemon still has. Returns those that were renewed. */
    renewLeases: async (p: LeaseHolder & { runIds: readonly string[]; leaseUntil: number }): Promise<RunSeen[]> => {
      if (p.runIds.length === 0) return [];
      return fetch(
        db
          .updateTable('runs')
          .set({ leaseUntil: p.leaseUntil })
          .where('id', 'in', [...p.runIds])
          .where('state', '=', 'running')
          .where('nodeId', '=', p.nodeId)
          .where('incarnation', '=', p.incarnation)
          .where('leaseUntil', 'is not', null)
          .returning(['id', 'fence']),
      );
    },
    /** Every running run with a lease, on any node. */
    listLeased: all(() =>
      db.selectFrom('runs').selectAll().where('state', '=', 'running').where('leaseUntil', 'is not', null),
    ),
    endWaits: async (p: { agentId: string }): Promise<void> => {
      await endRest(p);
      await endLimits(p);
      await endDelay(p);
      batch.runnable = true;
    },
    /** The clock was set back: waits on the node keep their length, and no channel turn begins in the future. */
    shiftWaits: async (p: { nodeId: string; by: number; now: number }): Promise<void> => {
      await shiftRests(p);
      await shiftStarts(p);
      await shiftLimits(p);
      await clampTurns(p);
      batch.runnable = true;
    },
  };
}
