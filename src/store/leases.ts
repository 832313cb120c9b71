import type { BatchState } from './commits.ts';
import type { Queries } from './query.ts';

/** Leases of runs under way, the deaths of daemons that runs were under way at, and waits when the clock is set. */
export function leaseQueries({ db, all, run }: Queries, batch: BatchState) {
  const shiftRests = run((p: { nodeId: string; by: number; now: number }) =>
    db
      .updateTable('agents')
      .set((eb) => ({ rest_until: eb('rest_until', '+', p.by) }))
      .where('node_id', '=', p.nodeId)
      .where('rest_until', '>', p.now),
  );
  const shiftStarts = run((p: { nodeId: string; by: number; now: number }) =>
    db
      .updateTable('runs')
      .set((eb) => ({ not_before: eb('not_before', '+', p.by) }))
      .where('state', '=', 'created')
      .where('node_id', '=', p.nodeId)
      .where('not_before', '>', p.now),
  );
  const clampTurns = run((p: { now: number }) =>
    db.updateTable('turns').set({ released_at: p.now }).where('released_at', '>', p.now),
  );

  return {
    setDeaths: run((p: { id: string; deaths: number; deathsEver: number; records: number }) =>
      db
        .updateTable('runs')
        .set({ deaths: p.deaths, deaths_ever: p.deathsEver, records_at_death: p.records })
        .where('id', '=', p.id),
    ),
    /** None of the node's runs is suspected any more. */
    clearDeaths: run((p: { nodeId: string }) =>
      db
        .updateTable('runs')
        .set({ deaths: 0, deaths_ever: 0, records_at_death: 0 })
        .where('node_id', '=', p.nodeId)
        .where('state', 'in', ['created', 'running'])
        .where('deaths', '>', 0),
    ),
    renewLeases: run((p: { nodeId: string; leaseUntil: number }) =>
      db
        .updateTable('runs')
        .set({ lease_until: p.leaseUntil })
        .where('state', '=', 'running')
        .where('node_id', '=', p.nodeId)
        .where('lease_until', 'is not', null),
    ),
    /** Every run under way that has a lease, on any node. */
    listLeased: all((_: object) =>
      db.selectFrom('runs').selectAll().where('state', '=', 'running').where('lease_until', 'is not', null),
    ),
    /** The clock was set back: what waits on the node waits as long as before, and no turn of a channel begins in the future. */
    shiftWaits: async (p: { nodeId: string; by: number; now: number }): Promise<void> => {
      await shiftRests(p);
      await shiftStarts(p);
      await clampTurns(p);
      batch.runnable = true;
    },
  };
}
