import { describe, expect, test } from 'vitest';
import type { Agent } from '../core/agent.ts';
import { addAgent, endRun, type StoreKit, send, usedBy } from './store.testkit.ts';

const DAY = 86_400_000;
const EVER = { since: 0, until: Number.MAX_SAFE_INTEGER };

export function testUsage({ read, write }: StoreKit): void {
  /** A run that cost a dollar for each ten tokens. */
  const spend = (agent: Agent, at: number, tokens: number, ended = true) =>
    write(async (tx) => {
      const { id: agentId, treeId, nodeId } = agent;
      const run = await tx.runs.insertOpenRun({ agentId, treeId, nodeId, incarnation: 'i', now: at });
      await tx.runs.setUsage(usedBy(run, { inputTokens: tokens, outputTokens: 1, costUsd: tokens / 10 }));
      if (ended) await endRun(tx, run);
      return run;
    });
  const tally = async () => {
    while ((await write((tx) => tx.runs.tallyRuns({ limit: 3 }))) > 0);
  };
  const sums = async (
    by: 'agent' | 'tree' | 'day',
    window: { since: number; until: number },
    of?: readonly Agent[],
  ) => {
    const rows = await read((tx) => tx.runs.listUsage({ by, ...window, limit: 1000 }));
    const handles = of?.map(({ handle }) => handle);
    return rows
      .filter(({ key }) => handles?.includes(key) ?? true)
      .map(({ key, runs, inputTokens }) => [key, runs, inputTokens]);
  };

  test('metrics count what waits, what was spent, and the size of the store', async () => {
    const agent = await write((tx) => addAgent(tx));
    const before = await read((tx) => tx.metrics.countUndelivered());
    await write((tx) => send(tx, { to: agent }));
    expect(await read((tx) => tx.metrics.countUndelivered())).toBe(before + 1);
    const spent = await read((tx) => tx.runs.getTotalUsage());
    await spend(agent, 31_000 * DAY, 10);
    await tally();
    await spend(agent, 31_001 * DAY, 10, false);
    const after = await read((tx) => tx.runs.getTotalUsage());
    expect([after.runs - spent.runs, after.inputTokens - spent.inputTokens]).toEqual([2, 20]);
    expect(await read((tx) => tx.metrics.getStoreBytes())).toBeGreaterThan(10_000);
  });

  describe('usage', () => {
    test('is the same before its runs are tallied, after it, and while some are', async () => {
      const [lead, worker] = await write(async (tx) => {
        const root = await addAgent(tx);
        return [root, await addAgent(tx, { parent: root })];
      });
      const first = 30_000;
      const team = [lead, worker];
      await spend(lead, first * DAY + 5, 10);
      await spend(worker, first * DAY + 7, 20);
      await spend(worker, (first + 1) * DAY + 5, 40);
      const days = { since: first * DAY, until: (first + 2) * DAY };
      const check = async () => {
        for (const window of [EVER, days]) {
          expect(await sums('agent', window, team)).toEqual([
            [worker.handle, 2, 60],
            [lead.handle, 1, 10],
          ]);
          expect(await sums('tree', window, team)).toEqual([[lead.handle, 3, 70]]);
        }
        expect(await sums('day', days)).toEqual([
          [String(first + 1), 1, 40],
          [String(first), 2, 30],
        ]);
        expect(await sums('agent', { since: first * DAY + 6, until: (first + 1) * DAY + 5 }, team)).toEqual([
          [worker.handle, 1, 20],
        ]);
        expect(await sums('day', { since: first * DAY + 1, until: first * DAY + 6 })).toEqual([[String(first), 1, 10]]);
        expect(await sums('day', { since: first * DAY + 6, until: (first + 1) * DAY + 6 })).toEqual([
          [String(first + 1), 1, 40],
          [String(first), 1, 20],
        ]);
      };
      await check();
      await write((tx) => tx.runs.tallyRuns({ limit: 1 }));
      await check();
      await tally();
      await check();
    });

    test('of the costliest counts runs that are not tallied with those that are', async () => {
      const [early, late] = await write(async (tx) => [await addAgent(tx), await addAgent(tx)]);
      await spend(early, 1, 1_000_000);
      await spend(late, 1, 999_990);
      await tally();
      const best = async () => (await read((tx) => tx.runs.listUsage({ by: 'agent', ...EVER, limit: 1 })))[0]?.key;
      expect(await best()).toBe(early.handle);
      await spend(late, 1, 20, false);
      expect(await best()).toBe(late.handle);
    });

    test('that becomes known after a run was tallied is counted once, with who counted it', async () => {
      const agent = await write((tx) => addAgent(tx));
      const day = 40_000;
      const run = await spend(agent, day * DAY, 10);
      const of = async (by: 'agent' | 'day', window: { since: number; until: number }) => {
        const rows = await read((tx) => tx.runs.listUsage({ by, ...window, limit: 1000 }));
        return rows
          .filter(({ key }) => [agent.handle, String(day)].includes(key))
          .map(({ runs, inputTokens, grade }) => [runs, inputTokens, grade]);
      };
      await tally();
      expect(await of('agent', EVER)).toEqual([[1, 10, 'reported']]);
      await write((tx) => tx.runs.setUsage({ ...usedBy(run, { inputTokens: 30 }), grade: 'metered' }));
      for (const again of [false, true]) {
        if (again) await tally();
        expect(await of('agent', EVER)).toEqual([[1, 30, 'metered']]);
        expect(await of('day', { since: day * DAY, until: (day + 1) * DAY })).toEqual([[1, 30, 'metered']]);
      }
    });

    test('of an agent includes its runs that go on', async () => {
      const agent = await write((tx) => addAgent(tx));
      const usage = () => read((tx) => tx.runs.getUsage({ agentId: agent.id }));
      expect(await usage()).toEqual({ runs: 0, inputTokens: 0, outputTokens: 0, costUsd: 0 });
      await spend(agent, 1, 10);
      const run = await spend(agent, 2, 20, false);
      const both = { runs: 2, inputTokens: 30, outputTokens: 2, costUsd: 3 };
      expect(await usage()).toEqual(both);
      await tally();
      expect(await usage()).toEqual(both);
      await write((tx) => tx.runs.setUsage(usedBy(run, { inputTokens: 2 ** 40, outputTokens: 2 ** 40 })));
      await write((tx) => endRun(tx, { ...run }));
      await tally();
      expect(await usage()).toMatchObject({ runs: 2, inputTokens: 2 ** 40 + 10, outputTokens: 2 ** 40 + 1 });
    });
  });
}
