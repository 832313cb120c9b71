import { type Budget, type BudgetAnswer, periodNumberOf } from '../core/budget.ts';
import { unpark } from './budget-parking.ts';
import { sentenceOf } from './budgets.ts';
import { type Correspondence, cancelRun } from './endings.ts';
import type { Tx } from './tx.ts';

/** The error of runs that the owner stops because a budget is used up. */
export const BUDGET_EXHAUSTED = 'budget_exhausted';

/** Does what the owner decided: changes the budget, and wakes or cancels what waits for it. */
export async function applyAnswer(
  tx: Tx,
  correspondence: Correspondence,
  budget: Budget,
  { raise, stop, model }: BudgetAnswer,
  setModel: (tx: Tx, agentId: string, model: string) => Promise<void>,
  now: number,
): Promise<void> {
  const periodNumber = periodNumberOf(budget, now);
  const waiting = await tx.budgets.listParked({ budgetId: budget.id });
  if (stop) {
    await tx.budgets.setBudget({ ...budget, stoppedIn: periodNumber });
    const reason = `${BUDGET_EXHAUSTED}: ${await sentenceOf(tx, budget, periodNumber)} is used up, and the owner decided to stop.`;
    for (const { id } of waiting) await cancelRun(tx, correspondence, id, reason, now);
    return;
  }
  const before = budget.raisedIn === periodNumber ? budget.raised : 0;
  const raised = raise
    ? { raised: before + (raise.by ?? budget.amount), raisedIn: periodNumber, warnedIn: null, stoppedIn: null }
    : {};
  // If it is used up again, the owner is asked again.
  await tx.budgets.setBudget({ ...budget, ...raised, askedIn: null, questionId: null });
  if (model !== null) {
    for (const agentId of new Set(waiting.map((run) => run.agentId))) await setModel(tx, agentId, model);
  }
  await unpark(tx, correspondence, waiting, now);
}
