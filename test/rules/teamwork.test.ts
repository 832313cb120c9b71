import { expect, test } from 'vitest';
import { createWorld } from '../helpers/world.ts';

test('terminating an agent aborts its turn and those of its descendants, and no other', async () => {
  const world = await createWorld({ slots: 4 });
  const lead = await world.create('lead');
  const boss = await world.create('boss', lead);
  await world.create('minion', boss);
  const aborted: string[] = [];
  for (const name of ['lead', 'boss', 'minion']) {
    world.behave(name, async ({ signal }) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      aborted.push(name);
      return '';
    });
    await world.ask(name, 'go');
  }
  await world.tick();
  while (world.scheduler().liveRuns().length < 3) await world.tick();
  await world.terminate('boss');
  // At once, not when the scheduler next looks at its leases.
  await new Promise((resolve) => setImmediate(resolve));
  expect(aborted.toSorted()).toEqual(['boss', 'minion']);
});

test('every turn is followed by what comes after turns, even if it failed', async () => {
  const ended: string[] = [];
  const world = await createWorld({ maxAttempts: 2, onTurnEnded: (agentId) => ended.push(agentId) });
  const [a, b] = [await world.create('a'), await world.create('b')];
  world.behave('b', () => ({ failure: 'crash' }));
  await world.ask('a', 'go');
  await world.settle();
  expect(ended).toEqual([a.id]);
  await world.ask('b', 'go');
  await world.settle();
  expect(ended).toEqual([a.id, b.id]);
});

test('an agent counts as live for workspaces while its turn is under way', async () => {
  const world = await createWorld();
  const { id } = await world.create('a');
  const { promise, resolve } = Promise.withResolvers<string>();
  world.behave('a', () => promise);
  expect(world.workspaces.isLive(id)).toBe(false);
  await world.ask('a', 'go');
  await world.tick();
  while (world.scheduler().liveRuns().length === 0) await world.tick();
  expect(world.workspaces.isLive(id)).toBe(true);
  resolve('done');
  await world.settle();
  expect(world.workspaces.isLive(id)).toBe(false);
});
