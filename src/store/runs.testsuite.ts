import { describe, expect, test } from 'vitest';
import type { Agent } from '../core/agent.ts';
import { addFailedAttempt, type Run } from '../core/run.ts';
import type { UsageGrade } from '../core/usage.ts';
import { addAgent, answer, claim, endRun, queueRun, type StoreKit, send, startRun, usedBy } from './store.testkit.ts';
import type { Change, Tx } from './store.ts';

export function testRuns(kit: StoreKit): void {
  const { read, write } = kit;
  const getRun = (id: string) => read((tx) => tx.runs.getRun({ id })) as Promise<Run>;
  const startNew = () => write(async (tx) => startRun(tx, await addAgent(tx)));

  describe('wakeAgent()', () => {
    type Scene = (tx: Tx, agent: Agent) => Promise<unknown>;
    const news: Scene = (tx, agent) => send(tx, { to: agent });
    const request: Scene = (tx, agent) => send(tx, { to: agent, kind: 'request' });
    const asking: Scene = async (tx, agent) =>
      send(tx, { to: await addAgent(tx, { parent: agent }), from: agent.id, kind: 'request' });

    /** Whether waking creates a run for an agent after these events. */
    async function wakes(scenes: readonly Scene[], change: Partial<Agent> = {}): Promise<boolean> {
      const { agent, before } = await write(async (tx) => {
        const made = await addAgent(tx, change);
        for (const scene of scenes) await scene(tx, made);
        return { agent: made, before: (await tx.runs.getLiveRun({ agentId: made.id }))?.id };
      });
      await write((tx) => tx.runs.wakeAgent({ agentId: agent.id, now: 7 }));
      const run = await read((tx) => tx.runs.getLiveRun({ agentId: agent.id }));
      if (!run || run.id === before) return false;
      const { treeId, nodeId } = agent;
      expect(run).toMatchObject({ agentId: agent.id, treeId, nodeId, state: 'created', attempt: 0, createdAt: 7 });
      return true;
    }

    const reply: Scene = async (tx, agent) => {
      const worker = await addAgent(tx, { parent: agent });
      await answer(tx, await send(tx, { to: worker, from: agent.id, kind: 'request' }), agent, worker);
    };
    const acknowledged: Scene = async (tx, agent) =>
      tx.deliveries.acknowledgeDelivery({
        messageId: await send(tx, { to: agent, kind: 'request' }),
        agentId: agent.id,
      });

    test.each<[string, boolean, Scene[], Partial<Agent>?]>([
      ['news', true, [news]],
      ['a request', true, [request]],
      ['a reply', true, [reply]],
      ['nothing', false, []],
      ['what is acknowledged already', false, [acknowledged]],
      ['news while it waits for an answer', false, [asking, news]],
      ['a request while it waits for an answer', true, [asking, request]],
      ['a reply while it waits for another answer', true, [asking, reply]],
      ['a request before it is ready', false, [request], { ready: false }],
      ['a request to a terminated agent', false, [request], { terminatedAt: 5 }],
      ['a request to an external agent', false, [request], { provider: 'external' }],
      ['a request while it rests', true, [request], { restUntil: 10 ** 12 }],
      ['a request while a run is on its way', false, [queueRun, request]],
      ['a request while a run is running', false, [startRun, request]],
      ['a request after the last run has ended', true, [async (tx, agent) => endRun(tx, await startRun(tx, agent))]],
    ])('with %s: %s', async (_name, expected, scenes, change) => {
      expect(await wakes(scenes, change)).toBe(expected);
    });

    test('notifies listeners that a run is waiting', async () => {
      const changes: Change[] = [];
      const stop = kit.store.onChange((change) => changes.push(change));
      const agent = await write((tx) => addAgent(tx));
      await write((tx) => send(tx, { to: agent }));
      await write((tx) => tx.runs.wakeAgent({ agentId: agent.id, now: 0 }));
      await write((tx) => tx.runs.wakeAgent({ agentId: agent.id, now: 0 }));
      stop();
      expect(changes.filter(({ runnable }) => runnable)).toHaveLength(1);
      expect(changes[0]?.runnable).toBe(false);
    });

    test('wakeAllAgents() wakes the agents of one node that have something to do', async () => {
      const [busy, idle, elsewhere] = await write(async (tx) => {
        const root = await addAgent(tx);
        const agents = [root, await addAgent(tx, { parent: root }), await addAgent(tx)] as const;
        for (const agent of [agents[0], agents[2]]) await send(tx, { to: agent });
        return agents;
      });
      expect(await read((tx) => tx.runs.listSleepers({ nodeId: busy.nodeId }))).toMatchObject([{ id: busy.id }]);
      await write((tx) => tx.runs.wakeAllAgents({ nodeId: busy.nodeId, now: 0 }));
      expect(await read((tx) => tx.runs.listSleepers({ nodeId: busy.nodeId }))).toEqual([]);
      const woken = async ({ id }: Agent) => (await read((tx) => tx.runs.getLiveRun({ agentId: id }))) !== null;
      expect([await woken(busy), await woken(idle), await woken(elsewhere)]).toEqual([true, false, false]);
    });
  });

  describe('fences', () => {
    const hold = (runId: string, fence: number) => read((tx) => tx.runs.holdRun({ runId, fence }));

    test('the claimer holds the run', async () => {
      const run = await startNew();
      expect(await hold(run.id, run.fence)).toEqual(run);
      for (const fence of [run.fence - 1, run.fence + 1]) {
        await expect(hold(run.id, fence)).rejects.toMatchObject({ code: 'fenced' });
      }
    });

    test('nobody holds an unclaimed run', async () => {
      const run = await write(async (tx) => queueRun(tx, await addAgent(tx)));
      await expect(hold(run.id, run.fence)).rejects.toMatchObject({ code: 'fenced' });
    });

    test('endRun() raises the fence, clears what the attempt held, and works once', async () => {
      const run = await startNew();
      await write((tx) => tx.runs.setRunProcess({ id: run.id, pid: 42, startedAt: '99' }));
      expect(await getRun(run.id)).toMatchObject({ pid: 42, pidStarted: '99' });
      const quiet = { progress: 'quiet', reason: 'No event.', since: 5, toldAttempt: 1 } as const;
      await write((tx) => tx.runs.setProgress({ id: run.id, ...quiet }));
      await write((tx) => tx.runs.setPatience({ id: run.id, until: 7 }));
      expect(await getRun(run.id)).toMatchObject({ progress: 'quiet', progressSince: 5, patientUntil: 7 });
      const end = {
        id: run.id,
        fence: run.fence,
        state: 'failed',
        stopReason: 'timeout',
        error: 'slow',
        finalText: null,
      } as const;
      await write((tx) => tx.runs.endRun({ ...end, now: 9 }));
      await expect(hold(run.id, run.fence)).rejects.toMatchObject({ code: 'fenced' });
      await expect(write((tx) => endRun(tx, run))).rejects.toMatchObject({ code: 'fenced' });
      expect(await getRun(run.id)).toMatchObject({
        state: 'failed',
        stopReason: 'timeout',
        error: 'slow',
        finalText: null,
        endedAt: 9,
        progress: null,
        patientUntil: null,
        fence: run.fence + 1,
        leaseUntil: null,
        pid: null,
        pidStarted: null,
      });
    });

    test('retryRun() raises the fence, and the next attempt has a higher one', async () => {
      const run = await startNew();
      const failed = { attempt: 1, kind: 'crash', error: 'crashed', at: 1, notBefore: 50 } as const;
      const failedAttempts = addFailedAttempt(run, failed);
      const retry = { ...run, failures: 1, error: 'crashed', notBefore: 50, failedAttempts, now: 1 };
      await write((tx) => tx.runs.retryRun(retry));
      await expect(hold(run.id, run.fence)).rejects.toMatchObject({ code: 'fenced' });
      const waiting = { state: 'created', failures: 1, error: 'crashed', notBefore: 50, leaseUntil: null };
      expect((await getRun(run.id)).failedAttempts).toEqual([failed]);
      expect(await getRun(run.id)).toMatchObject({ ...waiting, fence: run.fence + 1 });
      const again = await write((tx) => claim(tx, run.nodeId));
      expect(again).toMatchObject({ id: run.id, attempt: 2, startedAt: run.startedAt });
      expect(again?.fence).toBeGreaterThan(run.fence + 1);
    });

    test('retryRun() does not revive a run that has ended', async () => {
      const run = await startNew();
      await write((tx) => endRun(tx, run));
      const retry = (fence: number) =>
        write((tx) => tx.runs.retryRun({ ...run, fence, error: '', notBefore: 0, now: 1 }));
      await expect(retry(run.fence)).rejects.toMatchObject({ code: 'fenced' });
      await expect(retry(run.fence + 1)).rejects.toMatchObject({ code: 'fenced' });
      expect(await getRun(run.id)).toMatchObject({ state: 'completed', fence: run.fence + 1 });
    });

    test('endRun() and retryRun() with an outdated claim do not affect its successor', async () => {
      const old = await startNew();
      await write((tx) => tx.runs.retryRun({ ...old, error: '', notBefore: 0, now: 1 }));
      const successor = (await write((tx) => claim(tx, old.nodeId))) as Run;
      const again = write((tx) => tx.runs.retryRun({ ...old, error: '', notBefore: 0, now: 1 }));
      await expect(again).rejects.toMatchObject({ code: 'fenced' });
      await expect(write((tx) => endRun(tx, old))).rejects.toMatchObject({ code: 'fenced' });
      expect(await getRun(old.id)).toEqual(successor);
    });
  });

  test('listCompleted() gives the completed runs of an agent after a number, newest first', async () => {
    const agent = await write((tx) => addAgent(tx));
    const runs: Run[] = [];
    for (let i = 0; i < 3; i++) {
      runs.push(await write((tx) => startRun(tx, agent)));
      await write((tx) => endRun(tx, runs[i] as Run));
    }
    const failed = await write((tx) => startRun(tx, agent));
    const end = { state: 'failed', stopReason: 'error', error: 'x', finalText: null, now: 1 } as const;
    await write((tx) => tx.runs.endRun({ ...failed, ...end }));
    const list = async (after: number, limit: number) =>
      (await read((tx) => tx.runs.listCompleted({ agentId: agent.id, after, limit }))).map(({ id }) => id);
    const ids = runs.map(({ id }) => id);
    expect(await list(0, 9)).toEqual(ids.toReversed());
    expect(await list(runs[0]?.seq ?? 0, 9)).toEqual([ids[2], ids[1]]);
    expect(await list(0, 1)).toEqual([ids[2]]);
    const long = await write((tx) => startRun(tx, agent));
    const ended = { state: 'completed', stopReason: 'end_turn', error: null, finalText: 'long', now: 1 } as const;
    await write((tx) => tx.runs.endRun({ ...long, ...ended }));
    const past = { agentId: agent.id, after: runs[1]?.seq ?? 0, limit: 9, longest: 2 };
    expect(await read((tx) => tx.runs.listPast(past))).toEqual([
      { id: long.id, finalText: 'lo' },
      { id: ids[2], finalText: '' },
    ]);
  });

  describe('deaths of the daemon', () => {
    const deaths = { deaths: 2, deathsEver: 5, records: 7 };

    test('are stored across attempts, and reset on another boot', async () => {
      const run = await startNew();
      await write((tx) => tx.runs.setDeaths({ id: run.id, ...deaths }));
      const again = async (boot: string) => {
        const now = (await getRun(run.id)) as Run;
        await write((tx) => tx.runs.retryRun({ ...now, error: '', notBefore: 0, now: 1 }));
        const { deaths, deathsEver, recordsAtDeath } = (await write((tx) => claim(tx, run.nodeId, { boot }))) as Run;
        return [deaths, deathsEver, recordsAtDeath];
      };
      expect(await again('boot')).toEqual([2, 5, 7]);
      expect(await again('another')).toEqual([0, 0, 0]);
    });

    test('make suspects, which are claimed one at a time, in parallel to others', async () => {
      const one = await write((tx) => addAgent(tx));
      const runs: Run[] = [];
      for (const agent of [one, await write((tx) => addAgent(tx, { parent: one }))]) {
        runs.push(await write((tx) => queueRun(tx, agent)));
      }
      const innocent = await write(async (tx) => queueRun(tx, await addAgent(tx, { parent: one })));
      const [first, second] = runs as [Run, Run];
      // They were claimed on this boot before.
      while (await write((tx) => claim(tx, one.nodeId)));
      for (const { id } of [...runs, innocent]) {
        const now = (await getRun(id)) as Run;
        await write((tx) => tx.runs.retryRun({ ...now, error: '', notBefore: 0, now: 1 }));
        await write((tx) => tx.runs.setDeaths({ id, ...deaths, deaths: id === innocent.id ? 1 : 2 }));
      }
      const next = () => write((tx) => claim(tx, one.nodeId, { suspectFrom: 2 }));
      const claimed = (await next()) as Run;
      expect([claimed.id, (await next())?.id, await next()]).toEqual([first.id, innocent.id, null]);
      await write((tx) => endRun(tx, claimed));
      expect((await next())?.id).toBe(second.id);
    });

    test('of the runs of one node are cleared', async () => {
      const [run, other] = [await startNew(), await startNew()];
      for (const { id } of [run, other]) await write((tx) => tx.runs.setDeaths({ id, ...deaths }));
      await write((tx) => tx.runs.clearDeaths({ nodeId: run.nodeId }));
      expect(await getRun(run.id)).toMatchObject({ deaths: 0, deathsEver: 0, recordsAtDeath: 0 });
      expect(await getRun(other.id)).toMatchObject({ deaths: 2 });
    });
  });

  describe('reopenRun()', () => {
    const fail = (run: Run) =>
      write(async (tx) => {
        const end = { state: 'failed', stopReason: 'error', error: 'it broke', finalText: null, now: 5 } as const;
        await tx.runs.endRun({ id: run.id, fence: run.fence, ...end });
        await tx.deliveries.endCarried({ runId: run.id, state: 'dead' });
        return (await tx.runs.getRun({ id: run.id })) as Run;
      });

    test('has a failed run claimed again, with its next attempt and what it carried', async () => {
      const agent = await write((tx) => addAgent(tx));
      const run = await write((tx) => startRun(tx, agent));
      const messageId = await write((tx) => send(tx, { to: agent }));
      await write((tx) => tx.deliveries.injectDelivery({ messageId, agentId: agent.id, runId: run.id }));
      const failed = await fail(run);
      expect(await write((tx) => tx.deliveries.reviveCarried({ runId: run.id }))).toBe(1);
      await write((tx) => tx.runs.reopenRun(failed));
      expect(await getRun(run.id)).toMatchObject({ state: 'created', failures: 0, pokes: 1, endedAt: null });
      expect(await read((tx) => tx.deliveries.listCarried({ runId: run.id }))).toMatchObject([{ messageId }]);
      await expect(write((tx) => tx.runs.reopenRun(failed))).rejects.toThrow('has ended');
      expect(await write((tx) => claim(tx, agent.nodeId))).toMatchObject({ id: run.id, attempt: 2 });
    });

    test('does nothing for a run that has not failed', async () => {
      const run = await startNew();
      await expect(write((tx) => tx.runs.reopenRun(run))).rejects.toThrow('has ended');
      await write((tx) => endRun(tx, run));
      const ended = await getRun(run.id);
      await expect(write((tx) => tx.runs.reopenRun(ended))).rejects.toThrow('has ended');
      expect(await read((tx) => tx.runs.getNewestRun({ agentId: run.agentId }))).toMatchObject({
        id: run.id,
        pokes: 0,
      });
    });
  });

  describe('a paused agent', () => {
    test('is not woken, and its waiting run is not claimed, until it is resumed', async () => {
      const agent = await write((tx) => addAgent(tx));
      const run = await write((tx) => queueRun(tx, agent));
      await write((tx) => tx.agents.setPaused({ id: agent.id, at: 5, reason: 'why' }));
      expect(await write((tx) => claim(tx, agent.nodeId))).toBeNull();
      await write((tx) => endRun(tx, run));
      await write((tx) => tx.runs.wakeAgent({ agentId: agent.id, now: 0 }));
      expect(await read((tx) => tx.runs.getLiveRun({ agentId: agent.id }))).toBeNull();
      expect(await read((tx) => tx.agents.getAgent({ id: agent.id }))).toMatchObject({
        pausedAt: 5,
        pausedReason: 'why',
      });
      await write((tx) => tx.agents.setPaused({ id: agent.id, at: null, reason: null }));
      await write((tx) => tx.runs.wakeAgent({ agentId: agent.id, now: 0 }));
      expect(await write((tx) => claim(tx, agent.nodeId))).not.toBeNull();
    });
  });

  describe('leases', () => {
    const leased = async ({ nodeId }: Run) => {
      const runs = await read((tx) => tx.runs.listLeased());
      return runs.filter((run) => run.nodeId === nodeId).map(({ id, leaseUntil }) => [id, leaseUntil]);
    };

    const renew = ({ id, nodeId }: Run, incarnation = 'incarnation') =>
      write((tx) => tx.runs.renewLeases({ nodeId, incarnation, runIds: [id], leaseUntil: 1200 }));

    test('are renewed for the named runs, until they end', async () => {
      const [run, other] = [await startNew(), await startNew()];
      expect(await leased(run)).toEqual([[run.id, 1100]]);
      expect(await renew(run)).toEqual([{ id: run.id, fence: run.fence }]);
      expect(await leased(run)).toEqual([[run.id, 1200]]);
      expect(await leased(other)).toEqual([[other.id, 1100]]);
      await write((tx) => endRun(tx, run));
      expect(await leased(run)).toEqual([]);
      expect(await renew(run)).toEqual([]);
    });

    test('are not renewed by an earlier incarnation, or by another node', async () => {
      const run = await startNew();
      expect(await renew(run, 'an earlier one')).toEqual([]);
      expect(await renew({ ...run, nodeId: 'another' })).toEqual([]);
      expect(await leased(run)).toEqual([[run.id, 1100]]);
    });

    test('and rests are shifted when the clock is set back, on one node', async () => {
      const [run, other] = [await startNew(), await startNew()];
      for (const claimed of [run, other]) {
        await write((tx) => tx.runs.retryRun({ ...claimed, error: '', notBefore: 5000, now: 1 }));
        await write((tx) => tx.agents.restAgent({ id: claimed.agentId, until: 6000, rests: 1 }));
      }
      await write((tx) => tx.runs.shiftWaits({ nodeId: run.nodeId, by: -3000, now: 1000 }));
      const waits = async ({ id, agentId }: Run) => [
        (await getRun(id)).notBefore,
        (await read((tx) => tx.agents.getAgent({ id: agentId })))?.restUntil,
      ];
      expect(await waits(run)).toEqual([2000, 3000]);
      expect(await waits(other)).toEqual([5000, 6000]);
    });

    test("an agent's wait ends with its rest and the delay of its run", async () => {
      const run = await startNew();
      const other = await startNew();
      for (const { id, fence, agentId } of [run, other]) {
        await write(async (tx) => {
          await tx.runs.retryRun({ id, fence, failures: 0, error: 'e', notBefore: 5000, failedAttempts: null, now: 1 });
          await tx.agents.restAgent({ id: agentId, until: 6000, rests: 2 });
        });
      }
      await write((tx) => tx.runs.endWaits({ agentId: run.agentId }));
      const waits = async ({ id, agentId }: Run) => {
        const agent = await read((tx) => tx.agents.getAgent({ id: agentId }));
        return [(await getRun(id)).notBefore, agent?.restUntil, agent?.rests];
      };
      expect(await waits(run)).toEqual([0, 0, 0]);
      expect(await waits(other)).toEqual([5000, 6000, 2]);
    });

    test('an open run of an external agent has no lease and gets none', async () => {
      const run = await write(async (tx) => {
        const { id, treeId, nodeId } = await addAgent(tx, { provider: 'external' });
        return tx.runs.insertOpenRun({ agentId: id, treeId, nodeId, incarnation: 'i', now: 5 });
      });
      expect(run).toMatchObject({ state: 'running', attempt: 1, startedAt: 5, leaseUntil: null });
      expect(await getRun(run.id)).toEqual(run);
      expect(await read((tx) => tx.runs.holdRun({ runId: run.id, fence: run.fence }))).toEqual(run);
      expect(await renew(run, 'i')).toEqual([]);
      expect(await leased(run)).toEqual([]);
      expect(await read((tx) => tx.runs.listRunning({ nodeId: run.nodeId }))).toEqual([run]);
    });
  });

  test('a run stores what it serves and what started it', async () => {
    const run = await startNew();
    const [carried] = await read((tx) => tx.deliveries.listPending({ agentId: run.agentId, limit: 1 }));
    const [serves, triggerId] = [carried?.messageId as string, carried?.messageId as string];
    await write((tx) => tx.runs.setRunStart({ id: run.id, serves, triggerId, chainDepth: 2, payerId: 'user' }));
    expect(await getRun(run.id)).toMatchObject({ serves, triggerId, chainDepth: 2, payerId: 'user' });
    expect(await read((tx) => tx.runs.getRun({ id: 'none' }))).toBeNull();
  });

  test('usage is summed over the runs of an agent', async () => {
    const run = await startNew();
    const usage = () => read((tx) => tx.runs.getUsage({ agentId: run.agentId }));
    expect(await usage()).toEqual({ runs: 1, inputTokens: 0, outputTokens: 0, costUsd: 0 });
    await write((tx) => tx.runs.setUsage(usedBy(run, { inputTokens: 10, outputTokens: 1, costUsd: 0.25 })));
    const next = await write(async (tx) => {
      await endRun(tx, run);
      return startRun(tx, (await tx.agents.getAgent({ id: run.agentId })) as Agent);
    });
    const more = usedBy(next, { inputTokens: 2 ** 40, outputTokens: 2, costUsd: 0.5 });
    for (let n = 0; n < 2; n += 1) await write((tx) => tx.runs.setUsage(more));
    expect(await usage()).toEqual({ runs: 2, inputTokens: 2 ** 40 + 10, outputTokens: 3, costUsd: 0.75 });
    expect(await read((tx) => tx.runs.getUsage({ agentId: 'nobody' }))).toMatchObject({ runs: 0, costUsd: 0 });
  });

  test('of an attempt the larger number counts, and a run is as certain as its least certain attempt', async () => {
    const run = await startNew();
    const set = (attempt: number, grade: UsageGrade, inputTokens: number, outputTokens: number) =>
      write((tx) => tx.runs.setUsage({ ...usedBy(run, { inputTokens, outputTokens }), attempt, grade }));
    const sums = async () => {
      const { inputTokens, outputTokens, usageGrade } = (await getRun(run.id)) as Run;
      return [inputTokens, outputTokens, usageGrade];
    };
    expect(await sums()).toEqual([0, 0, null]);
    await set(1, 'metered', 100, 10);
    await set(1, 'reported', 90, 20);
    expect(await sums()).toEqual([100, 20, 'metered']);
    await set(2, 'reported', 5, 5);
    expect(await sums()).toEqual([105, 25, 'reported']);
    await set(3, 'assumed', 1, 1);
    expect(await sums()).toEqual([106, 26, 'assumed']);
    const rows = await read((tx) => tx.runs.listRunUsage({ runId: run.id }));
    expect(rows.map(({ attempt, grade }) => [attempt, grade])).toEqual([
      [1, 'metered'],
      [1, 'reported'],
      [2, 'reported'],
      [3, 'assumed'],
    ]);
  });
}
