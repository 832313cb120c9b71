import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { Agent } from '../core/agent.ts';
import type { Run } from '../core/run.ts';
import { addAgent, claim, endRun, queueRun, type StoreKit, send, startRun } from './store.testkit.ts';

export function testClaims({ read, write, openAnother }: StoreKit): void {
  /** Roots on one node, each with a waiting run. */
  const queueTrees = (count: number, change: Partial<Agent> = {}) =>
    write(async (tx) => {
      const first = await addAgent(tx, change);
      const agents = [first];
      while (agents.length < count) agents.push(await addAgent(tx, { ...change, nodeId: first.nodeId }));
      const runs: Run[] = [];
      for (const agent of agents) runs.push(await queueRun(tx, agent));
      return { node: first.nodeId, agents, runs };
    });
  const claimOn = (node: string, change: Parameters<typeof claim>[2] = {}) => write((tx) => claim(tx, node, change));

  describe('claimRun()', () => {
    test('returns null when no run is due', async () => {
      expect(await claimOn('nowhere')).toBeNull();
    });

    test('starts the run: first attempt, a lease, a fence', async () => {
      const { node, runs } = await queueTrees(1);
      const run = await claimOn(node, { now: 500, leaseMs: 30 });
      const started = {
        incarnation: 'incarnation',
        state: 'running',
        attempt: 1,
        fence: 1,
        leaseUntil: 530,
        startedAt: 500,
        boot: 'boot',
      };
      expect(run).toEqual({ ...runs[0], ...started });
      expect(await read((tx) => tx.runs.getRun({ id: run?.id as string }))).toEqual(run);
      expect(await claimOn(node)).toBeNull();
    });

    describe('is fair between trees', () => {
      /** Two trees on one node with three agents each; creates runs for them by name. */
      const addTrees = async () => {
        const agents = await write(async (tx) => {
          const a = await addAgent(tx, { name: 'a1', nameKey: randomUUID() });
          const b = await addAgent(tx, { name: 'b1', nameKey: randomUUID(), nodeId: a.nodeId });
          const children = [];
          for (const name of ['a2', 'a3']) children.push(await addAgent(tx, { name, parent: a }));
          for (const name of ['b2', 'b3']) children.push(await addAgent(tx, { name, parent: b }));
          return [a, b, ...children];
        });
        const node = agents[0]?.nodeId as string;
        const queue = (...names: string[]) =>
          write(async (tx) => {
            for (const name of names) await queueRun(tx, agents.find((agent) => agent.name === name) as Agent);
          });
        const running: Run[] = [];
        const claimAll = async () => {
          const order: (string | undefined)[] = [];
          for (let run = await claimOn(node); run; run = await claimOn(node)) {
            running.push(run);
            order.push(agents.find(({ id }) => id === run?.agentId)?.name);
          }
          return order;
        };
        const endAll = () =>
          write(async (tx) => {
            for (const run of running.splice(0)) await endRun(tx, run);
          });
        return { queue, claimAll, endAll };
      };

      test('the tree with the fewest running runs is first, however long others have waited', async () => {
        const { queue, claimAll } = await addTrees();
        await queue('a1', 'a2');
        await claimAll();
        await queue('b1');
        await claimAll();
        await queue('a3', 'b2', 'b3');
        expect(await claimAll()).toEqual(['b2', 'a3', 'b3']);
      });

      test('otherwise the tree whose last claim is longest ago', async () => {
        const { queue, claimAll, endAll } = await addTrees();
        await queue('a1', 'a2', 'b1', 'b2');
        expect(await claimAll()).toEqual(['a1', 'b1', 'a2', 'b2']);
        await endAll();
        await queue('b3', 'a3');
        expect(await claimAll()).toEqual(['a3', 'b3']);
      });
    });

    test('an agent has one run at a time', async () => {
      const { node, agents } = await queueTrees(1);
      const agent = agents[0] as Agent;
      const run = await claimOn(node);
      const { id, treeId, nodeId } = agent;
      const second = write((tx) => tx.runs.insertOpenRun({ agentId: id, treeId, nodeId, incarnation: 'i', now: 1 }));
      await expect(second).rejects.toThrow(/unique/i);
      expect(await read((tx) => tx.runs.getLiveRun({ agentId: id }))).toEqual(run);
      await write((tx) => endRun(tx, run as Run));
      expect(await write((tx) => startRun(tx, agent))).toMatchObject({ agentId: id, attempt: 1 });
    });

    test('skips runs that may not start yet; getNextStart() returns when they may', async () => {
      const { node, agents } = await queueTrees(2, { restUntil: 2000 });
      const run = await claimOn(node, { now: 2000 });
      await write((tx) => tx.runs.retryRun({ ...(run as Run), failures: 1, error: '', notBefore: 3000, now: 1 }));
      const next = () => read((tx) => tx.runs.getNextStart({ nodeId: node, now: 1999 }));
      expect(await claimOn(node, { now: 1999 })).toBeNull();
      expect(await next()).toBe(2000);
      expect(await claimOn(node, { now: 2999 })).toMatchObject({ agentId: agents[1]?.id });
      expect(await next()).toBe(3000);
      expect(await claimOn(node, { now: 2999 })).toBeNull();
      expect(await claimOn(node, { now: 3000 })).toMatchObject({ id: run?.id, attempt: 2 });
      expect(await next()).toBe(null);
    });

    test('skips full providers, agents whose process is still alive, and other nodes', async () => {
      const { node, agents, runs } = await queueTrees(2);
      expect(await claimOn(node, { fullProviders: ['other', 'scripted'] })).toBeNull();
      expect(await claimOn('elsewhere')).toBeNull();
      const busyAgents = [agents[0]?.id as string];
      expect(await claimOn(node, { busyAgents })).toMatchObject({ id: runs[1]?.id });
      expect(await claimOn(node, { busyAgents, fullProviders: ['other'] })).toBeNull();
      expect(await claimOn(node, { fullProviders: ['other'] })).toMatchObject({ id: runs[0]?.id });
    });

    test("stops at the tree's cap, except for a run that has already started", async () => {
      const { node, agents } = await queueTrees(1);
      const treeId = agents[0]?.id as string;
      const capped = { maxTreeRuns: 1 };
      const paused = async () =>
        (await read((tx) => tx.trees.listNewlyPaused({ maxTreeRuns: 1 }))).some(({ id }) => id === treeId);
      const run = (await claimOn(node, capped)) as Run;
      await write((tx) => tx.runs.retryRun({ ...run, failures: 0, error: '', notBefore: 0, now: 1 }));
      const again = (await claimOn(node, capped)) as Run;
      expect(again).toMatchObject({ id: run.id, attempt: 2 });
      expect(await paused()).toBe(false);

      await write(async (tx) => {
        await endRun(tx, again);
        await queueRun(tx, agents[0] as Agent);
      });
      expect(await claimOn(node, capped)).toBeNull();
      expect(await paused()).toBe(true);
      await write((tx) => tx.trees.setToldPaused({ treeId }));
      const { runsSincePerson } = (await read((tx) => tx.trees.getTree({ id: treeId }))) ?? { runsSincePerson: 0 };
      await write((tx) => tx.trees.countTreeRun({ treeId }));
      expect(await read((tx) => tx.trees.getTree({ id: treeId }))).toMatchObject({
        runsSincePerson: runsSincePerson + 1,
      });
      expect(await paused()).toBe(false);

      await write((tx) => tx.trees.resetTreeRuns({ treeId }));
      expect(await claimOn(node, capped)).toMatchObject({ agentId: treeId, attempt: 1 });
    });

    test('in an exhausted tree, only claims runs paid by a person with runs left', async () => {
      const { node, agents, runs } = await queueTrees(1);
      const [agent] = agents as [Agent];
      const day = Number.parseInt(agent.id.slice(0, 8), 16);
      const before = { maxTreeRuns: 0 };
      expect(await claimOn(node, before)).toBeNull();
      await write((tx) => send(tx, { to: agent, payer: 'user' }));
      expect(await claimOn(node, { ...before, spent: ['user'] })).toBeNull();
      expect(await claimOn(node, { ...before, spent: ['somebody'] })).toMatchObject({ id: runs[0]?.id });
      const used = async () => (await read((tx) => tx.trees.getTree({ id: agent.treeId })))?.runsSincePerson;
      expect(await used()).toBe(1);
      const charge = () => write((tx) => tx.trees.chargePerson({ treeId: agent.treeId, personId: 'user', day }));
      expect([await charge(), await charge()]).toEqual([1, 2]);
      expect(await used()).toBe(-1);
      expect(await read((tx) => tx.trees.listPersonRuns({ from: day - 1, to: day }))).toEqual([
        { personId: 'user', handle: 'user', day, runs: 2, most: null },
      ]);
      expect(await read((tx) => tx.trees.listPersonRuns({ from: day + 1, to: day + 2 }))).toEqual([]);
    });

    test('in a tree with room, skips runs that only a person without runs left would pay for', async () => {
      const agent = await write((tx) => addAgent(tx));
      await write(async (tx) => {
        await send(tx, { to: agent, kind: 'request', payer: 'user' });
        await tx.runs.wakeAgent({ agentId: agent.id, now: 0 });
      });
      expect(await claimOn(agent.nodeId, { spent: ['user'] })).toBeNull();
      expect(await claimOn(agent.nodeId)).toMatchObject({ agentId: agent.id });
    });

    test('two concurrent claims never get the same run', async () => {
      const { node, runs } = await queueTrees(12);
      const other = await openAnother();
      const claims = Array.from({ length: 16 }, (_, i) =>
        i % 2 === 0 ? claimOn(node) : other.write((tx) => claim(tx, node)),
      );
      const claimed = (await Promise.all(claims)).filter((run) => run !== null);
      expect(claimed.map(({ id }) => id).sort()).toEqual(runs.map(({ id }) => id).sort());
    });
  });
}
