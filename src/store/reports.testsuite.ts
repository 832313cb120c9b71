import { describe, expect, test } from 'vitest';
import { addAgent, endRun, type StoreKit, startRun, usedBy } from './store.testkit.ts';

export function testReports({ read, write }: StoreKit): void {
  describe('listWork()', () => {
    test('sums the runs since a time by agent', async () => {
      const agent = await write((tx) => addAgent(tx));
      for (const input of [3, 2 ** 40]) {
        const run = await write((tx) => startRun(tx, agent));
        await write((tx) => tx.runs.setUsage(usedBy(run, { inputTokens: input, costUsd: 1 })));
        await write((tx) => endRun(tx, run));
      }
      const work = (await read((tx) => tx.reports.listWork({ since: 0, limit: 1000 }))).find(
        ({ agentId }) => agentId === agent.id,
      );
      const states = { runs: 2, completed: 2, failed: 0, cancelled: 0 };
      expect(work).toMatchObject({ handle: agent.handle, ...states, inputTokens: 2 ** 40 + 3, costUsd: 2 });
      const later = await read((tx) => tx.reports.listWork({ since: 2 ** 50, limit: 1000 }));
      expect(later).toEqual([]);
    });
  });
}
