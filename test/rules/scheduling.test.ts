import { describe, expect, test } from 'vitest';
import type { Run } from '../../src/core/run.ts';
import { startRun } from '../../src/runs/start.ts';
import { ENGINE } from '../helpers/engine.ts';
import { starting } from '../helpers/starting.ts';
import { until } from '../helpers/until.ts';
import { createWorld } from '../helpers/world.ts';

/** Long enough for anything else that may start to start. */
async function aWhile(): Promise<void> {
  for (let i = 0; i < 100; i += 1) await new Promise((resolve) => setImmediate(resolve));
}

describe('slots', () => {
  test('limit how many turns run at once', async () => {
    const world = await createWorld({ slots: 2 });
    let running = 0;
    let most = 0;
    for (let n = 0; n < 6; n += 1) {
      await world.create(`a${n}`);
      world.behave(`a${n}`, async () => {
        running += 1;
        most = Math.max(most, running);
        // A second one must start, and a third one would have time to.
        await until('two run', () => most > 1);
        await aWhile();
        running -= 1;
        return 'ok';
      });
    }
    for (let n = 0; n < 6; n += 1) await world.ask(`a${n}`, 'go');
    await world.settle();
    expect(most).toBe(2);
  });

  test('are shared fairly between trees', async () => {
    const world = await createWorld({ slots: 1 });
    const order: string[] = [];
    for (const tree of ['loud', 'quiet']) {
      const root = await world.create(tree);
      for (let n = 0; n < 5; n += 1) {
        const name = `${tree}${n}`;
        await world.create(name, root);
        world.behave(name, () => {
          order.push(tree);
          return 'ok';
        });
      }
    }
    const { promise: hold, resolve } = Promise.withResolvers<string>();
    await world.create('blocker');
    world.behave('blocker', () => hold);
    await world.ask('blocker', 'go');
    await world.tick();
    for (let n = 0; n < 5; n += 1) await world.ask(`loud${n}`, 'go');
    for (let n = 0; n < 2; n += 1) await world.ask(`quiet${n}`, 'go');
    resolve('done');
    await world.settle();
    expect(order.slice(0, 4).filter((tree) => tree === 'quiet')).toHaveLength(2);
  });

  test('of a provider are separate', async () => {
    const world = await createWorld({ slots: 4, providerSlots: { test: 1 } });
    let most = 0;
    let running = 0;
    for (const name of ['a', 'b', 'c']) {
      await world.create(name);
      world.behave(name, async () => {
        running += 1;
        most = Math.max(most, running);
        await aWhile();
        running -= 1;
        return 'ok';
      });
      await world.ask(name, 'go');
    }
    await world.settle();
    expect(most).toBe(1);
  });
});

describe('the run cap of a tree', () => {
  test('stops a loop until a person writes again, and notifies the person once', async () => {
    const world = await createWorld({ maxTreeRuns: 10 });
    const lead = await world.create('lead');
    await world.create('echo', lead);
    let turns = 0;
    const bounce = (other: string) => async (turn: { call: (tool: string, args: object) => Promise<unknown> }) => {
      turns += 1;
      await turn.call('send_message', { recipient: other, text: `your turn ${turns}`, sync: false });
      return 'x';
    };
    world.behave('lead', bounce('echo'));
    world.behave('echo', bounce('lead'));
    await world.ask('lead', 'go');
    await world.settle();
    expect(turns).toBe(10);
    await world.settle();
    const notices = async () =>
      (await world.store.read((tx) => tx.events.listEvents({ after: 0, limit: 10_000 }))).filter(
        (event) => event.type === 'message_created' && event.data.kind === 'notice',
      );
    expect(await notices()).toHaveLength(1);
    await world.ask('lead', 'go on');
    await world.settle();
    expect(turns).toBe(20);
    expect(await notices()).toHaveLength(2);
  });
});

describe('leases', () => {
  test('a turn that another process fenced is killed at the next renewal', async () => {
    const world = await createWorld();
    const x = await world.create('x');
    let aborted = false;
    world.behave('x', async (turn) => {
      if (turn.attempt > 1) return 'again';
      await new Promise((resolve) => turn.signal.addEventListener('abort', resolve));
      aborted = true;
      return 'never';
    });
    const id = await world.ask('x', 'go');
    while ((await world.view('x')).running === 0) await world.tick();
    const run = await world.store.read((tx) => tx.runs.getLiveRun({ agentId: x.id }));
    await world.store.write((tx) => tx.runs.retryRun({ ...(run as Run), error: 'taken over', notBefore: 0, now: 1 }));
    await world.scheduler().renewLeases();
    await world.settle();
    expect(aborted).toBe(true);
    expect(await world.reply(id)).toMatchObject({ text: 'again', count: 1 });
  });

  test('a run whose node has no heartbeat is retried, and that does not count', async () => {
    const world = await createWorld({ maxAttempts: 1 });
    const x = await world.create('x');
    world.behave('x', (turn) => `attempt ${turn.attempt}`);
    // Another process of the same node claims it and disappears.
    await world.scheduler().stop();
    const id = await world.ask('x', 'go');
    const dead = {
      nodeId: 'node-1',
      now: world.clock(),
      leaseMs: 1000,
      maxTreeRuns: 100,
      spent: [],
      fullProviders: [],
      busyAgents: [],
      suspectFrom: null,
      boot: 'a boot',
      incarnation: 'another',
    };
    const claimed = await world.store.write(async (tx) => {
      const run = await tx.runs.claimRun(dead);
      return run && startRun(tx, run, world.clock(), starting);
    });
    expect(claimed).toMatchObject({ agent: { id: x.id } });
    world.restart();
    await world.settle();
    expect((await world.reply(id)).state).toBe('open');
    await world.pass(15_000);
    await world.settle();
    expect(await world.reply(id)).toMatchObject({ text: 'attempt 2' });
  });
});

/** Each takes a few milliseconds on PostgreSQL, and fewer would also show a timer per agent. */
const MANY = ENGINE === 'postgres' ? 1_000 : 10_000;

describe(`${MANY} idle agents`, () => {
  test('need no timer each, and are listed in pages', async () => {
    const world = await createWorld({ maxChildren: 20_000, maxAgents: 20_000, writesOnce: true });
    const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
    const before = timers();
    const lead = await world.create('lead');
    // One transaction per hundred agents: they arrive together and share commits.
    for (let n = 0; n < MANY; n += 500) {
      await Promise.all(Array.from({ length: 500 }, (_, i) => world.create(`w${n + i}`, lead)));
    }
    expect(timers() - before).toBeLessThanOrEqual(1);
    const seen = new Set<string>();
    let after: { createdAt: number; id: string } | null = null;
    for (;;) {
      const page = await world.store.read((tx) => tx.agents.listAgentViews({ after, limit: 500, all: false }));
      for (const agent of page) seen.add(agent.id);
      const last = page.at(-1);
      if (!last || page.length < 500) break;
      after = { createdAt: last.createdAt, id: last.id };
    }
    expect(seen.size).toBe(MANY + 1);
  }, 120_000);
});
