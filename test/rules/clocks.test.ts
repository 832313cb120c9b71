import { describe, expect, test } from 'vitest';
import type { Run } from '../../src/core/run.ts';
import { type Started, startRun } from '../../src/runs/start.ts';
import { starting } from '../helpers/starting.ts';
import { createWorld } from '../helpers/world.ts';

const DAYS = 2 * 24 * 3_600_000;

describe('a clock that is set', () => {
  test('back does not make an agent rest longer', async () => {
    const world = await createWorld();
    await world.create('x');
    let turns = 0;
    world.behave('x', () => {
      turns += 1;
      return turns === 1 ? { failure: 'rate_limit', retryAfterMs: 60_000 } : 'done';
    });
    const id = await world.ask('x', 'go');
    await world.settle();
    await world.setClock(-DAYS);
    await world.pass(59_000);
    await world.settle();
    expect(turns).toBe(1);
    await world.pass(2_000);
    await world.settle();
    expect(await world.reply(id)).toMatchObject({ text: 'done' });
  });

  test('back and forth does not affect a running turn, and a failed one is retried soon', async () => {
    const world = await createWorld({ requestDeadlineMs: 9 * DAYS });
    await world.create('x');
    const { promise, resolve } = Promise.withResolvers<void>();
    world.behave('x', async (turn) => {
      await promise;
      return turn.attempt === 1 ? { failure: 'crash' } : `attempt ${turn.attempt}`;
    });
    const id = await world.ask('x', 'go');
    while ((await world.view('x')).running === 0) await world.tick();
    for (const step of [DAYS, -DAYS, -DAYS, DAYS]) {
      await world.setClock(step);
      await world.scheduler().renewLeases();
      await world.tick();
    }
    expect(world.scheduler().liveRuns()).toHaveLength(1);
    resolve();
    await world.settle();
    await world.setClock(-DAYS);
    await world.pass(1_000);
    await world.settle();
    expect(await world.reply(id)).toMatchObject({ text: 'attempt 2', count: 1 });
  });

  test('is followed by deadlines', async () => {
    const world = await createWorld();
    await world.create('x');
    world.behave('x', () => new Promise(() => {}));
    const id = await world.ask('x', 'go');
    await world.tick();
    await world.setClock(DAYS);
    expect(await world.reply(id)).toMatchObject({ kind: 'error', state: 'closed' });
  });
});

describe("another node's lease", () => {
  /** A run of that node is running, and our scheduler has seen it. */
  async function seen() {
    const world = await createWorld({ maxAttempts: 1, requestDeadlineMs: 9 * DAYS });
    const { id: agentId } = await world.create('x');
    await world.scheduler().stop();
    await world.ask('x', 'go');
    const claim = {
      nodeId: 'node-1',
      now: world.clock(),
      leaseMs: 30_000,
      maxTreeRuns: 9,
      suspectFrom: null,
      boot: 'b',
      incarnation: 'another',
    };
    const started = await world.store.write(async (tx) => {
      const run = (await tx.runs.claimRun({ ...claim, fullProviders: [], busyAgents: [], spent: [] })) as Run;
      return startRun(tx, run, world.clock(), starting);
    });
    world.restart();
    await world.tick();
    return {
      world,
      run: (started as Started).run,
      state: () => world.store.read((tx) => tx.runs.getLiveRun({ agentId })),
    };
  }

  test('that is renewed is not lost, however wrong its clock is', async () => {
    const { world, run, state } = await seen();
    for (const off of [-DAYS, DAYS, -DAYS]) {
      for (let n = 0; n < 10; n += 1) {
        await world.store.write((tx) =>
          tx.runs.renewLeases({
            nodeId: 'node-1',
            incarnation: 'another',
            runIds: [run.id],
            leaseUntil: world.clock() + off + n,
          }),
        );
        await world.pass(10_000);
      }
    }
    expect(await state()).toMatchObject({ state: 'running', fence: run.fence });
  });

  test.each([
    ['set back', -DAYS, 60_000],
    ['set forward', DAYS, 15_000],
  ])('that is not renewed is lost after a while, although our clock was %s', async (_, step, after) => {
    const { world, run, state } = await seen();
    world.behave('x', () => new Promise(() => {}));
    await world.setClock(step);
    await world.pass(after - 1);
    expect(await state()).toMatchObject({ state: 'running', fence: run.fence });
    await world.pass(1);
    expect((await state())?.attempt).toBe(2);
  });
});

test('our own leases that expired while the machine slept are not lost: their turns continue', async () => {
  const world = await createWorld({ maxAttempts: 1 });
  await world.create('x');
  const { promise, resolve } = Promise.withResolvers<void>();
  world.behave('x', async (turn) => {
    await promise;
    return `attempt ${turn.attempt}`;
  });
  const id = await world.ask('x', 'go');
  while ((await world.view('x')).running === 0) await world.tick();
  // As the daemon finds it when the machine wakes up: before any renewal.
  await world.pass(8 * 3_600_000);
  await world.pass(8 * 3_600_000);
  resolve();
  await world.settle();
  expect(await world.reply(id)).toMatchObject({ text: 'attempt 1', count: 1 });
});
