import { type Agent, USER_ID } from '../core/agent.ts';
import { type Budget, type BudgetView, type BudgetWish, limitOf, periodEndOf, periodNumberOf } from '../core/budget.ts';
import { SubstratError } from '../core/errors.ts';
import { newId } from '../core/id.ts';
import { shorten } from '../core/text.ts';
import { type BudgetTalk, unparkAll } from './budget-parking.ts';
import { type BudgetRules, budgetsOf } from './budgets.ts';
import type { Tx } from './tx.ts';

/**
 * Sets a limit, or changes it: what was raised or decided before no longer counts, and what waits for it looks again.
 * Turns in progress are charged to a new limit with all that they use.
 */
export async function setBudget(
  tx: Tx,
  talk: BudgetTalk,
  rules: Pick<BudgetRules, 'usesModel' | 'timeZone'>,
  wish: BudgetWish,
  now: number,
): Promise<BudgetView> {
  const agent = wish.scope === 'person' ? null : await tx.agents.getAgent({ id: wish.subjectId as string });
  if (wish.scope !== 'person' && !agent)
    throw new SubstratError('not_found', `There is no agent ${shorten(wish.subjectId)}.`);
  if (agent && agent.terminatedAt !== null) throw new SubstratError('terminated', `${agent.handle} is terminated.`);
  const before = await tx.budgets.findBudget(wish);
  const decided = { raised: 0, raisedIn: null, warnedIn: null, askedIn: null, stoppedIn: null, questionId: null };
  const made = { id: newId(), treeId: agent?.treeId ?? null, expiresAt: null, createdAt: now };
  const timeZone = await timeZoneOf(tx, rules, wish);
  const budget: Budget = { ...made, ...before, ...wish, timeZone, ...decided };
  await tx.budgets.setBudget(budget);
  if (!before) await chargeRunning(tx, rules, budget, now);
  await settleWaiting(tx, talk, before ?? budget, now);
  return viewOf(tx, budget, now);
}

/** Days of a person's budget are theirs, those of an agent's are the owner's. */
async function timeZoneOf(
  tx: Tx,
  { timeZone }: Pick<BudgetRules, 'timeZone'>,
  { scope, subjectId }: Pick<Budget, 'scope' | 'subjectId'>,
): Promise<string> {
  const person = scope === 'person' ? await tx.participants.getParticipantById({ id: subjectId }) : null;
  return timeZone(person?.handle ?? USER_ID);
}

/** The configuration has other time zones now: days end when they end there. What waits looks again. */
export async function moveDays(
  tx: Tx,
  talk: BudgetTalk,
  rules: Pick<BudgetRules, 'timeZone'>,
  now: number,
): Promise<void> {
  for (const { handle: _, ...budget } of await tx.budgets.listBudgets({ now })) {
    const timeZone = await timeZoneOf(tx, rules, budget);
    if (budget.period !== 'day' || budget.timeZone === timeZone) continue;
    await tx.budgets.setBudget({ ...budget, timeZone });
    await unparkAll(tx, talk, [budget.id], now);
  }
}

/** Nothing limits what waited for it any more. */
export async function removeBudget(tx: Tx, talk: BudgetTalk, id: string, now: number): Promise<void> {
  const budget = await tx.budgets.getBudget({ id });
  if (!budget) throw new SubstratError('not_found', `There is no budget ${shorten(id)}.`);
  await settleWaiting(tx, talk, budget, now);
  await tx.budgets.deleteBudget({ id });
}

export async function listBudgets(tx: Tx, now: number): Promise<BudgetView[]> {
  const views: BudgetView[] = [];
  for (const budget of await tx.budgets.listBudgets({ now })) views.push(await viewOf(tx, budget, now));
  return views;
}

async function viewOf(tx: Tx, budget: Budget, now: number): Promise<BudgetView> {
  const periodNumber = periodNumberOf(budget, now);
  const { used, held } = await tx.budgets.getDrawn({ budgetId: budget.id, periodNumber });
  const limit = limitOf(budget, periodNumber);
  const handle = (await tx.participants.getParticipantById({ id: budget.subjectId }))?.handle ?? '';
  const waiting = (await tx.budgets.listParked({ budgetId: budget.id })).length;
  const renewsAt = budget.period === 'day' ? periodEndOf(budget, now) : null;
  return { ...budget, handle, limit, used, reserved: held - used, left: Math.max(0, limit - held), waiting, renewsAt };
}

async function settleWaiting(tx: Tx, talk: BudgetTalk, { id, questionId }: Budget, now: number): Promise<void> {
  if (questionId !== null) await talk.withdrawQuestion(tx, questionId, 'the budget was changed', now);
  await unparkAll(tx, talk, [id], now);
}

async function chargeRunning(
  tx: Tx,
  rules: Pick<BudgetRules, 'usesModel'>,
  budget: Budget,
  now: number,
): Promise<void> {
  if (budget.unit === 'runs') return;
  const personId = budget.treeId === null ? budget.subjectId : null;
  for (const run of await tx.budgets.listRunningFor({ treeId: budget.treeId, personId })) {
    const agent = (await tx.agents.getAgent({ id: run.agentId })) as Agent;
    const budgets = await budgetsOf(tx, rules, agent, run.payerId, now);
    if (!budgets.some(({ id }) => id === budget.id)) continue;
    const charge = { budgetId: budget.id, runId: run.id, attempt: run.attempt, reserved: 0, used: 0, grade: null };
    const periodNumber = periodNumberOf(budget, now);
    await tx.budgets.setCharge({ ...charge, periodNumber, open: true, createdAt: now });
  }
}
