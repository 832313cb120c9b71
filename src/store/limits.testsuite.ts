import { describe, expect, test } from 'vitest';
import { newId } from '../core/id.ts';
import type { ProviderLimit } from '../core/seat.ts';
import { addAgent, type StoreKit, send, startRun } from './store.testkit.ts';

export function testLimits({ read, write }: StoreKit): void {
  const create = () => {
    const nodeId = newId();
    const limit = (agentId: string, more: Partial<ProviderLimit> = {}): ProviderLimit => ({
      ...{ nodeId, provider: 'claude', account: '', agentId, treeId: `tree of ${agentId}`, until: 500, at: 1 },
      ...{ reason: 'used up', grade: 'reported' as const },
      ...more,
    });
    const set = (...limits: ProviderLimit[]) =>
      write(async (tx) => {
        for (const one of limits) await tx.limits.setLimit(one);
      });
    return { nodeId, limit, set };
  };

  describe('limits', () => {
    test('of an agent or an account replace earlier ones, and end', async () => {
      const { nodeId, limit, set } = create();
      await set(limit('a'), limit('b'), limit(''), limit('', { account: 'work' }), limit('a', { nodeId: newId() }));
      await set(limit('a', { until: 900, reason: 'still', grade: 'metered', at: 2 }));
      const list = (now: number) => read((tx) => tx.limits.listLimits({ nodeId, now }));
      expect(await list(499)).toHaveLength(4);
      expect(await list(500)).toEqual([limit('a', { until: 900, reason: 'still', grade: 'metered', at: 2 })]);
      const ofB = await read((tx) => tx.limits.listLimitsOf({ nodeId, agentId: 'b', now: 1 }));
      expect(ofB.map(({ agentId, account }) => agentId + account).sort()).toEqual(['', 'b', 'work']);
      await write((tx) => tx.limits.forgetLimits({ before: 600 }));
      expect(await list(0)).toHaveLength(1);
    });

    test('that other trees reported are found', async () => {
      const { nodeId, limit, set } = create();
      await set(limit('a'), limit('b'), limit('c', { account: 'work' }), limit(''), limit('d', { until: 5 }));
      const account = { nodeId, provider: 'claude', account: '', now: 10 };
      const others = await read((tx) => tx.limits.listOtherReports({ ...account, treeId: 'tree of a' }));
      expect(others.map(({ agentId }) => agentId)).toEqual(['b']);
    });

    test('keep their length if the clock is set back', async () => {
      const { nodeId, limit, set } = create();
      await set(limit('a', { until: 5_000 }));
      await write((tx) => tx.runs.shiftWaits({ nodeId, by: -3_000, now: 1_000 }));
      expect(await read((tx) => tx.limits.listLimits({ nodeId, now: 1 }))).toMatchObject([{ until: 2_000 }]);
    });
  });

  describe('seats', () => {
    test('are set, used up by a failure, and settled by a success', async () => {
      const { id } = await write((tx) => addAgent(tx));
      const now = () => read((tx) => tx.agents.getAgent({ id }));
      const seat = { account: 'a', actingProvider: 'codex', actingModel: 'm', actingAccount: 'b' };
      await write(async (tx) => {
        await tx.agents.setSeat({ id, ...seat, seatNew: true });
        await tx.agents.setRestTold({ id });
      });
      expect(await now()).toMatchObject({ ...seat, seatNew: true, restTold: true });
      await write((tx) => tx.agents.setSeatUsed({ id }));
      expect(await now()).toMatchObject({ ...seat, seatNew: false });
      await write((tx) => tx.agents.settleAgent({ id }));
      expect(await now()).toMatchObject({ ...seat, restTold: false });
    });

    test('stay for a request: its runs are counted', async () => {
      const { agent, run, request } = await write(async (tx) => {
        const made = await addAgent(tx);
        return { agent: made, run: await startRun(tx, made), request: await send(tx, { to: made, kind: 'request' }) };
      });
      const served = { serves: request, triggerId: null, chainDepth: 0, payerId: null };
      await write((tx) => tx.runs.setRunStart({ id: run.id, ...served }));
      const count = (serves: string) => read((tx) => tx.runs.countServing({ agentId: agent.id, serves }));
      expect([await count(request), await count('another')]).toEqual([1, 0]);
    });
  });
}
