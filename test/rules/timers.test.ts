import { describe, expect, onTestFinished, test } from 'vitest';
import type { Timer } from '../../src/core/timer.ts';
import type { FireTimer } from '../../src/runs/due-timers.ts';
import { openStore } from '../../src/store/open.ts';
import { failingAtCommit } from '../helpers/repeating-store.ts';
import { createWorld, type WorldOptions } from '../helpers/world.ts';

const DAY = 24 * 3_600_000;

/** A world in which timers of the kind `bell` leave an event that has their key in it, and the keys in order. */
async function bells(options: WorldOptions = {}) {
  const world = await createWorld({ ...options, timers: { bell: ring, ...options.timers } });
  const inMs = (ms: number, key = 'a'): Timer => ({ kind: 'bell', key, due: world.clock() + ms });
  const set = (...timers: Timer[]) =>
    world.store.write(async (tx) => {
      for (const timer of timers) await tx.timers.setTimer(timer);
    });
  const rung = async () => {
    const events = await world.store.read((tx) => tx.events.listEvents({ after: 0, limit: 1000 }));
    return events.flatMap((event) => (event.type === 'agent_resumed' ? event.data.agentId : []));
  };
  return { ...world, inMs, set, rung };
}

const ring: FireTimer = async (tx, { key }, now) => {
  await tx.events.appendEvent({ type: 'agent_resumed', at: now, data: { agentId: key } });
};

describe('a timer', () => {
  test('fires at its time, once', async () => {
    const { set, inMs, pass, rung } = await bells();
    await set(inMs(1000, 'b'), inMs(500, 'a'), inMs(2000, 'c'));
    // Not a millisecond before: the scheduler's real timer would come again and again while this clock stands still.
    await pass(400);
    expect(await rung()).toEqual([]);
    await pass(100);
    expect(await rung()).toEqual(['a']);
    await pass(500);
    expect(await rung()).toEqual(['a', 'b']);
    await pass(DAY);
    await pass(DAY);
    expect(await rung()).toEqual(['a', 'b', 'c']);
  });

  test('wakes the scheduler, which had nothing to wait for', async () => {
    const { set, inMs, tick, rung } = await bells();
    await tick();
    // The world's clock stands still, so only the real timer of the scheduler brings it.
    await set(inMs(0));
    await expect.poll(rung).toEqual(['a']);
  });

  test('that is cancelled or moved does not fire at its old time', async () => {
    const { store, set, inMs, pass, rung } = await bells();
    await set(inMs(1000, 'gone'), inMs(1000, 'later'));
    await set(inMs(2000, 'later'));
    await store.write((tx) => tx.timers.tryCancelTimer({ kind: 'bell', key: 'gone' }));
    await pass(1900);
    expect(await rung()).toEqual([]);
    await pass(100);
    expect(await rung()).toEqual(['later']);
  });

  test('whose handler sets it again comes again, and one that a handler moves or cancels does not come', async () => {
    const again: FireTimer = async (tx, timer, now) => {
      await ring(tx, timer, now);
      await tx.timers.setTimer({ ...timer, due: timer.due + 1000 });
      await tx.timers.setTimer({ kind: 'bell', key: 'moved', due: now + DAY });
      await tx.timers.tryCancelTimer({ kind: 'bell', key: 'cancelled' });
    };
    const { set, inMs, pass, rung } = await bells({ timers: { again } });
    await set({ ...inMs(999, 'tick'), kind: 'again' }, inMs(1000, 'moved'), inMs(1000, 'cancelled'));
    await pass(1000);
    expect(await rung()).toEqual(['tick']);
    await pass(999);
    expect(await rung()).toEqual(['tick', 'tick']);
  });

  test('of many that are due at once is not left behind', async () => {
    const { set, inMs, pass, rung } = await bells();
    const keys = Array.from({ length: 250 }, (_, n) => String(n).padStart(3, '0'));
    await set(...keys.map((key) => inMs(5, key)));
    await pass(5);
    expect(await rung()).toEqual(keys);
  });
});

describe('exactly once', () => {
  test('a timer whose time passed while no daemon ran fires after the start', async () => {
    const { scheduler, restart, set, inMs, pass, tick, rung } = await bells();
    await set(inMs(1000));
    await scheduler().stop();
    await pass(2000);
    expect(await rung()).toEqual([]);
    restart();
    await tick();
    restart();
    await tick();
    expect(await rung()).toEqual(['a']);
  });

  test('a daemon that dies between firing and deleting fires it again, and what it did before is undone', async () => {
    const store = failingAtCommit(await openStore({ path: ':memory:' }));
    onTestFinished(() => store.close());
    let fired = 0;
    const bell: FireTimer = async (tx, timer, now) => {
      fired += 1;
      await ring(tx, timer, now);
    };
    const { set, inMs, crash, tick, pass, rung } = await bells({ store, timers: { bell } });
    await set(inMs(1000));
    store.down = true;
    await pass(1000);
    expect(fired).toBeGreaterThan(0);
    expect(await rung()).toEqual([]);
    store.down = false;
    await crash();
    await tick();
    await tick();
    expect(await rung()).toEqual(['a']);
  });

  test('two schedulers on one store, as two nodes have', async () => {
    const { restart, scheduler, set, inMs, pass, rung } = await bells();
    const first = scheduler();
    restart();
    await set(inMs(1000));
    await Promise.all([pass(1000), first.tick()]);
    await first.stop();
    expect(await rung()).toEqual(['a']);
  });
});

describe('a clock that is set', () => {
  test('forward brings a timer, and back does not bring it twice', async () => {
    const { set, inMs, setClock, pass, rung } = await bells();
    await set(inMs(DAY));
    await setClock(2 * DAY);
    await setClock(-2 * DAY);
    await pass(DAY);
    expect(await rung()).toEqual(['a']);
  });

  test('back makes a timer wait for its time of day', async () => {
    const { set, inMs, setClock, pass, rung } = await bells();
    await set(inMs(1000));
    await setClock(-DAY);
    await pass(1000);
    expect(await rung()).toEqual([]);
    await pass(DAY);
    expect(await rung()).toEqual(['a']);
  });
});

test('deadlines come before timers of the same moment', async () => {
  const seen = new Set<string | undefined>();
  const look: FireTimer = async (tx) => {
    seen.add((await tx.requests.getRequest({ id: asked }))?.state);
  };
  const world = await bells({ requestDeadlineMs: 1000, timers: { look } });
  await world.create('x');
  world.behave('x', () => new Promise(() => {}));
  const asked = await world.ask('x', 'go');
  await world.set({ ...world.inMs(1000), kind: 'look' });
  await world.tick();
  await world.pass(1000);
  expect([...seen]).toEqual(['closed']);
});
