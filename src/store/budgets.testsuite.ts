import { describe, expect, test } from 'vitest';
import type { Budget, Charge } from '../core/budget.ts';
import { newId } from '../core/id.ts';
import type { Run } from '../core/run.ts';
import { addAgent, claim, endRun, queueRun, type StoreKit, startRun } from './store.testkit.ts';

export function budgetOf(change: Partial<Budget> & Pick<Budget, 'subjectId' | 'treeId'>): Budget {
  return {
    id: newId(),
    scope: 'subtree',
    unit: 'tokens',
    period: 'day',
    timeZone: 'Europe/Berlin',
    amount: 1_000.5,
    expiresAt: null,
    origin: 'person',
    raised: 0,
    raisedIn: null,
    warnedIn: null,
    askedIn: null,
    stoppedIn: null,
    questionId: null,
    createdAt: 5,
    ...change,
  };
}

export function chargeOf(change: Partial<Charge> & Pick<Charge, 'budgetId' | 'runId'>): Charge {
  return { attempt: 1, periodNumber: 20_000, reserved: 10, used: 0, grade: null, open: true, createdAt: 5, ...change };
}

export function testBudgets({ read, write }: StoreKit): void {
  /** An agent with a budget and a run in progress. */
  const begin = () =>
    write(async (tx) => {
      const agent = await addAgent(tx);
      const budget = budgetOf({ subjectId: agent.id, treeId: agent.treeId });
      await tx.budgets.setBudget(budget);
      return { agent, budget, run: await startRun(tx, agent) };
    });
  const drawn = (budget: Budget) => read((tx) => tx.budgets.getDrawn({ budgetId: budget.id, periodNumber: 20_000 }));

  describe('budgets', () => {
    test('are found by subject, by tree and by question, until they expire', async () => {
      const { agent, budget } = await begin();
      const own = budgetOf({ subjectId: 'user', treeId: null, scope: 'person', createdAt: 6, expiresAt: 50 });
      await write((tx) => tx.budgets.setBudget(own));
      const changed = { ...budget, amount: 2 ** 50, raised: 1.5, raisedIn: 20_000, questionId: 'q', askedIn: 20_000 };
      await write((tx) => tx.budgets.setBudget(changed));
      const of = { treeId: agent.treeId, personId: 'user' };
      expect(await read((tx) => tx.budgets.listBudgetsOf({ ...of, now: 49 }))).toEqual([changed, own]);
      expect(await read((tx) => tx.budgets.listBudgetsOf({ ...of, now: 50 }))).toEqual([changed]);
      expect(await read((tx) => tx.budgets.getBudget({ id: budget.id }))).toEqual(changed);
      expect(await read((tx) => tx.budgets.findBudget(budget))).toEqual(changed);
      expect(await read((tx) => tx.budgets.findBudget({ ...budget, unit: 'usd' }))).toBeNull();
      expect(await read((tx) => tx.budgets.getAskedBudget({ questionId: 'q' }))).toEqual(changed);
      expect(await read((tx) => tx.budgets.listBudgetsAbout({ subjectId: agent.id }))).toEqual([changed]);
      expect(await read((tx) => tx.budgets.listBudgets({ now: 60 }))).toContainEqual({
        ...changed,
        handle: agent.handle,
      });
      await write((tx) => tx.budgets.forgetQuestion({ id: budget.id }));
      expect(await read((tx) => tx.budgets.getAskedBudget({ questionId: 'q' }))).toBeNull();
      await write((tx) => tx.budgets.deleteBudget({ id: own.id }));
      await expect(write((tx) => tx.budgets.deleteBudget({ id: own.id }))).rejects.toThrow('There is no budget');
    });

    test('what is held is what is used, or reserved if that is more; an ended attempt has used its reservation', async () => {
      const { budget, run, agent } = await begin();
      const charge = chargeOf({ budgetId: budget.id, runId: run.id });
      expect(await drawn(budget)).toEqual({ used: 0, held: 0, holders: 0 });
      await write((tx) => tx.budgets.setCharge(charge));
      await write((tx) => tx.budgets.setCharge(chargeOf({ ...charge, attempt: 0, used: 7, open: false })));
      await write((tx) => tx.budgets.setCharge(chargeOf({ ...charge, attempt: 2, periodNumber: 20_001 })));
      expect(await drawn(budget)).toEqual({ used: 7, held: 17, holders: 1 });
      await write((tx) => tx.budgets.setCharge({ ...charge, used: 12, grade: 'reported' }));
      expect(await drawn(budget)).toEqual({ used: 19, held: 19, holders: 1 });
      await write((tx) => tx.budgets.setCharge({ ...charge, used: 4, grade: 'reported' }));
      expect(await read((tx) => tx.budgets.listCharged({ nodeId: agent.nodeId }))).toContainEqual({ runId: run.id });
      const running = () => read((tx) => tx.budgets.listRunningFor({ treeId: agent.treeId, personId: null }));
      expect((await running()).map(({ id }) => id)).toEqual([run.id]);
      expect(await read((tx) => tx.budgets.listRunningFor({ treeId: null, personId: 'user' }))).toContainEqual(
        expect.objectContaining({ id: run.id }),
      );
      await write((tx) => endRun(tx, run));
      expect(await drawn(budget)).toEqual({ used: 17, held: 17, holders: 0 });
      const charges = await read((tx) => tx.budgets.listCharges({ runId: run.id }));
      expect(charges[1]).toEqual({ ...charge, used: 10, reserved: 0, grade: 'assumed', open: false });
      expect(await running()).toEqual([]);
      const before = 20_001 * 86_400_000;
      expect(await write((tx) => tx.budgets.pruneCharges({ before, limit: 1 }))).toBe(1);
      expect(await write((tx) => tx.budgets.pruneCharges({ before, limit: 10 }))).toBe(1);
      expect(await read((tx) => tx.budgets.listCharges({ runId: run.id }))).toHaveLength(1);
    });

    test('a run that waits for one is not claimed', async () => {
      const { budget, agent } = await begin();
      const other = await write((tx) => addAgent(tx, { nodeId: `node of ${agent.id}` }));
      const { id } = await write((tx) => queueRun(tx, other));
      const park = { id, budgetId: budget.id, until: 100, reason: 'used up', now: 9 };
      await write((tx) => tx.budgets.parkRun(park));
      expect(await write((tx) => claim(tx, other.nodeId))).toBeNull();
      const ids = (runs: readonly Run[]) => runs.map((run) => run.id);
      expect(ids(await read((tx) => tx.budgets.listParked({ budgetId: budget.id })))).toEqual([id]);
      expect(ids(await read((tx) => tx.budgets.listParkedUntil({ now: 99 })))).not.toContain(id);
      expect(ids(await read((tx) => tx.budgets.listParkedUntil({ now: 100 })))).toContain(id);
      expect(await read((tx) => tx.budgets.getNextUnpark())).toBe(100);
      expect(await read((tx) => tx.agents.getAgentView({ id: other.id }))).toMatchObject({
        runBudgetId: budget.id,
        runError: 'used up',
        runFailedAt: 9,
      });
      await write((tx) => tx.budgets.unparkRun({ id }));
      expect(await write((tx) => claim(tx, other.nodeId))).toMatchObject({ id, budgetId: null });
      await expect(write((tx) => tx.budgets.parkRun(park))).rejects.toThrow('There is no run');
    });
  });
}
