import type { Agent } from '../core/agent.ts';
import { amountText, type Budget, limitOf, periodEndOf, periodNumberOf } from '../core/budget.ts';
import type { Due } from '../core/due.ts';
import type { Run } from '../core/run.ts';
import { type Exhausted, sentenceOf } from './budgets.ts';
import type { Tx } from './tx.ts';

/** The messages that a used up budget causes; wired by the daemon. */
export interface BudgetTalk {
  /** Returns the id of the question. */
  askOwner(
    tx: Tx,
    agent: Agent,
    question: { readonly subject: string; readonly details: string; readonly options: readonly string[] },
    now: number,
  ): Promise<string>;
  withdrawQuestion(tx: Tx, id: string, reason: string, now: number): Promise<void>;
  tellPerson(tx: Tx, agent: Agent, text: string, now: number): Promise<void>;
  /** The deadlines of a request, and of those it was sent for, stand still. */
  holdDeadlines(tx: Tx, requestId: string | null, now: number): Promise<void>;
  releaseDeadlines(tx: Tx, requestId: string | null, now: number): Promise<void>;
}

/** How long a run waits for other turns to release what they reserved, if nobody wakes it. */
const QUEUED_MS = 5 * 60_000;
const LONG_MS = 24 * 3_600_000;

/**
 * A run that is in state `created` waits for a budget: until others release what they reserved, or, if nobody holds a
 * reservation, until the owner decides. The owner is asked once for each budget and period.
 */
export async function park(tx: Tx, talk: BudgetTalk, runId: string, exhausted: Exhausted, now: number): Promise<void> {
  const budget = await tx.budgets.getBudget({ id: exhausted.budgetId });
  const run = await tx.runs.getRun({ id: runId });
  // If it was removed meanwhile, nothing limits the run.
  if (!budget || run?.state !== 'created') return;
  const periodNumber = periodNumberOf(budget, now);
  const { holders } = await tx.budgets.getDrawn({ budgetId: budget.id, periodNumber });
  const isQueued = exhausted.why === 'used' && holders > 0;
  if (!isQueued && budget.askedIn !== periodNumber) await tellOwner(tx, talk, budget, run, exhausted, now);
  const again = now + (isQueued || exhausted.why === 'price' ? QUEUED_MS : LONG_MS);
  const until = Math.min(periodEndOf(budget, now) ?? Number.POSITIVE_INFINITY, again);
  const reason = isQueued ? `${exhausted.text} Other turns have reserved the rest.` : exhausted.text;
  await tx.budgets.parkRun({ id: run.id, budgetId: budget.id, until, reason, now });
  await talk.holdDeadlines(tx, run.serves, now);
}

/** Runs that waited look again whether they fit. */
export async function unpark(
  tx: Tx,
  talk: Pick<BudgetTalk, 'releaseDeadlines'>,
  runs: readonly Pick<Run, 'id' | 'serves'>[],
  now: number,
): Promise<void> {
  for (const { id, serves } of runs) {
    await tx.budgets.unparkRun({ id });
    await talk.releaseDeadlines(tx, serves, now);
  }
}

/** The runs that wait for one of these budgets look again. */
export async function unparkAll(
  tx: Tx,
  talk: Pick<BudgetTalk, 'releaseDeadlines'>,
  budgetIds: readonly string[],
  now: number,
): Promise<void> {
  for (const budgetId of new Set(budgetIds)) await unpark(tx, talk, await tx.budgets.listParked({ budgetId }), now);
}

/** A new period has begun, or it is time to look again. */
export function parkedRuns(talk: BudgetTalk): Due<Tx> {
  return {
    next: (tx) => tx.budgets.getNextUnpark(),
    fire: async (tx, now) => {
      const runs = await tx.budgets.listParkedUntil({ now });
      for (const id of new Set(runs.map(({ budgetId }) => budgetId as string))) {
        const budget = await tx.budgets.getBudget({ id });
        if (!budget || budget.questionId === null) continue;
        const isOver = budget.askedIn !== periodNumberOf(budget, now) || (periodEndOf(budget, now) ?? now + 1) <= now;
        if (!isOver) continue;
        await talk.withdrawQuestion(tx, budget.questionId, 'the period of the budget has ended', now);
        await tx.budgets.setBudget({ ...budget, questionId: null });
      }
      await unpark(tx, talk, runs, now);
      return false;
    },
  };
}

async function tellOwner(
  tx: Tx,
  talk: BudgetTalk,
  budget: Budget,
  run: Run,
  { text, why }: Exhausted,
  now: number,
): Promise<void> {
  const askedIn = periodNumberOf(budget, now);
  const subject = budget.treeId === null ? null : await tx.agents.getAgent({ id: budget.subjectId as string });
  const agent = subject ?? ((await tx.agents.getAgent({ id: run.agentId })) as Agent);
  if (why === 'price') {
    await tx.budgets.setBudget({ ...budget, askedIn });
    return talk.tellPerson(tx, agent, text, now);
  }
  const { used } = await tx.budgets.getDrawn({ budgetId: budget.id, periodNumber: askedIn });
  const more = amountText(budget.unit, budget.amount);
  const until = periodEndOf(budget, now);
  const period = until === null ? '' : ` A new period begins at ${new Date(until).toISOString()}.`;
  const questionId = await talk.askOwner(
    tx,
    agent,
    {
      subject: `${await sentenceOf(tx, budget, askedIn)} is used up. How should its agents continue?`,
      details: `${amountText(budget.unit, used)} of ${amountText(budget.unit, limitOf(budget, askedIn))} are used.${period} Turns that need it wait with their work; deadlines stand still.\n"raise" adds ${more}; "raise AMOUNT" adds another amount. "stop" cancels what waits with the error budget_exhausted. "model NAME" gives the waiting agents another model; add ", raise AMOUNT" if nothing is left.`,
      options: ['raise', 'stop', 'model NAME'],
    },
    now,
  );
  await tx.budgets.setBudget({ ...budget, askedIn, questionId });
}
