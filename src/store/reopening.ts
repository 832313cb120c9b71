import { SubstratError } from '../core/errors.ts';
import type { AgentId } from '../core/ids.ts';
import type { Run } from '../core/run.ts';
import type { BatchState } from './batch.ts';
import { type ProgressQueries, progressQueries } from './progress.ts';
import type { Queries } from './query.ts';
import type { RunSeen } from './views.ts';

/** The progress of running attempts, and failed runs that are tried again. */
export interface ReopeningQueries extends ProgressQueries {
  /** The failures are forgotten; the next claim is the next attempt. Throws as `endRun` does. */
  reopenRun(p: RunSeen): Promise<void>;
  /** The last run of an agent. */
  getNewestRun(p: { agentId: AgentId }): Promise<Run | null>;
}

export function reopeningQueries(queries: Queries, batch: BatchState): ReopeningQueries {
  const { db, one, must } = queries;
  const reopen = must(
    (p: RunSeen) =>
      db
        .updateTable('runs')
        .set((eb) => ({
          state: 'created',
          stopReason: null,
          failures: 0,
          notBefore: 0,
          endedAt: null,
          pokes: eb('pokes', '+', 1),
          fence: eb('fence', '+', 1),
        }))
        .where('id', '=', p.id)
        .where('fence', '=', p.fence)
        .where('state', '=', 'failed'),
    fenced,
  );
  return {
    ...progressQueries(queries),
    reopenRun: async (p) => {
      await reopen(p);
      batch.runnable = true;
    },
    getNewestRun: one((p: { agentId: string }) =>
      db.selectFrom('runs').selectAll().where('agentId', '=', p.agentId).orderBy('seq', 'desc').limit(1),
    ),
  };
}

export function fenced(): SubstratError {
  return new SubstratError('fenced', 'The turn has ended; its tools can no longer be called.');
}
