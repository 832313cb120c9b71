import { describe, expect, test } from 'vitest';
import { openStore } from '../../src/store/open.ts';
import { NODE } from '../../src/store/store.testkit.ts';
import { takeSharedDatabase } from '../helpers/engine.ts';
import { failingAtCommit } from '../helpers/repeating-store.ts';
import { until } from '../helpers/until.ts';
import { createWorld, type WorldTurn } from '../helpers/world.ts';

const LEASE = 30_000;

/** An agent whose first attempt lasts until it is ended. */
async function busyWorld(options: Parameters<typeof createWorld>[0]) {
  const world = await createWorld(options);
  await world.create('x');
  const turns: WorldTurn[] = [];
  world.behave('x', async (turn) => {
    turns.push(turn);
    if (turn.attempt > 1) return 'again';
    return new Promise<string>(() => {});
  });
  const id = await world.ask('x', 'go');
  await until('the turn has begun', () => turns.length === 1);
  return { world, id, aborted: () => turns[0]?.signal.aborted };
}

async function openFailing() {
  const database = await takeSharedDatabase();
  const store = failingAtCommit(await openStore(database ?? { path: ':memory:' }));
  const close = async () => {
    await store.close();
    await database?.giveBack();
  };
  return { store, close };
}

describe('a node that cannot renew its leases', () => {
  test('ends its turns after half a lease, and tries them again when the store is back', async () => {
    const { store, close } = await openFailing();
    const { world, id, aborted } = await busyWorld({ store, shared: true });
    store.down = true;
    await world.pass(LEASE / 2 - 1);
    await world.scheduler().renewLeases();
    expect(aborted()).toBe(false);
    await world.pass(1);
    await world.scheduler().renewLeases();
    expect(aborted()).toBe(true);
    store.down = false;
    await until('it was tried again', async () => {
      await world.tick();
      return (await world.reply(id)).text === 'again';
    });
    expect(await world.reply(id)).toMatchObject({ state: 'closed', count: 1 });
    await world.scheduler().stop();
    await close();
  });

  test('goes on while each renewal succeeds', async () => {
    const { world, aborted } = await busyWorld({ shared: true });
    for (let n = 0; n < 9; n += 1) {
      await world.pass(LEASE / 6);
      await world.scheduler().renewLeases();
    }
    expect(aborted()).toBe(false);
    await world.terminate('x');
  });

  test('goes on if no other node can take its runs', async () => {
    const { store, close } = await openFailing();
    const { world, aborted } = await busyWorld({ store });
    store.down = true;
    await world.pass(LEASE);
    await world.scheduler().renewLeases();
    expect(aborted()).toBe(false);
    store.down = false;
    await world.terminate('x');
    await world.scheduler().stop();
    await close();
  });
});

describe('a daemon whose node id another daemon has taken', () => {
  const register = (world: Awaited<ReturnType<typeof createWorld>>) =>
    world.store.write((tx) => tx.nodes.registerNode({ ...NODE, id: 'node-1', incarnation: 'the other' }));

  test('starts nothing', async () => {
    const world = await createWorld();
    await world.create('x');
    await register(world);
    const id = await world.ask('x', 'go');
    await world.settle();
    expect(await world.reply(id)).toMatchObject({ state: 'open' });
    expect(await world.view('x')).toMatchObject({ runState: 'created', running: 0 });
  });

  test('cannot let an external agent join', async () => {
    const world = await createWorld();
    await world.create('x', null, { provider: 'external' });
    await register(world);
    await expect(world.join('x')).rejects.toThrow(/another daemon/);
  });
});
