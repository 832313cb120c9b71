import type { RunId } from '../core/ids.ts';
import { type AttemptUsage, type UsageGrade, usageOf } from '../core/usage.ts';
import type { Queries } from './query.ts';
import { type UsageTotals, usageTotals } from './usage-totals.ts';

/** What runs used. */
export interface UsageQueries extends Omit<UsageTotals, 'untallyRun'> {
  /** What an attempt has used so far, and with it the run's sum. Idempotent; needs no fence: what is spent is spent. */
  setUsage(usage: AttemptUsage): Promise<void>;
  /** By attempt. */
  listRunUsage(p: { runId: RunId }): Promise<AttemptUsage[]>;
}

export function usageQueries(queries: Queries): UsageQueries {
  const { db, all, put, change } = queries;
  const totals = usageTotals(queries);
  const set = put((p: AttemptUsage) =>
    db
      .insertInto('run_usage')
      .values({
        runId: p.runId,
        attempt: p.attempt,
        grade: p.grade,
        inputTokens: p.inputTokens,
        outputTokens: p.outputTokens,
        costUsd: p.costUsd,
      })
      .onConflict((conflict) =>
        conflict.columns(['runId', 'attempt', 'grade']).doUpdateSet((eb) => ({
          inputTokens: eb.ref('excluded.inputTokens'),
          outputTokens: eb.ref('excluded.outputTokens'),
          costUsd: eb.ref('excluded.costUsd'),
        })),
      ),
  );
  const listRunUsage = all((p: { runId: string }) =>
    db.selectFrom('run_usage').selectAll().where('runId', '=', p.runId).orderBy('attempt').orderBy('grade'),
  );
  const setSum = change(
    'run',
    (p: { id: string; input: number; output: number; cost: number; grade: UsageGrade | null }) =>
      db
        .updateTable('runs')
        .set({ inputTokens: p.input, outputTokens: p.output, costUsd: p.cost, usageGrade: p.grade })
        .where('id', '=', p.id),
  );
  return {
    setUsage: async (usage) => {
      await set(usage);
      await totals.untallyRun({ id: usage.runId });
      const { inputTokens: input, outputTokens: output, costUsd: cost, grade } = usageOf(await listRunUsage(usage));
      await setSum({ id: usage.runId, input, output, cost, grade });
    },
    listRunUsage,
    getUsage: totals.getUsage,
    getTotalUsage: totals.getTotalUsage,
    listUsage: totals.listUsage,
    tallyRuns: totals.tallyRuns,
  };
}
