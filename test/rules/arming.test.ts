import { expect, test } from 'vitest';
import { openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/store/store.ts';
import { createWorld } from '../helpers/world.ts';

test('a run that becomes due after the last claim and before the timer is armed starts all the same', async () => {
  const opened = await openStore({ path: ':memory:' });
  let now = 1_800_000_000_000;
  let isOver = (): boolean => false;
  const store: Store = {
    ...opened,
    // A look for a run to claim that finds nothing returns null. After the first one since the attempt is over, a minute passes.
    read: async (work) => {
      const result = await opened.read(work);
      if (result === null && isOver()) {
        now += 60_000;
        isOver = () => false;
      }
      return result;
    },
  };
  const world = await createWorld({ store, clock: () => now });
  const { id: agentId } = await world.create('x');
  let attempts = 0;
  world.behave('x', () => {
    attempts += 1;
    if (attempts === 1) isOver = () => !world.scheduler().isLive(agentId);
    return attempts === 1 ? { failure: 'crash', message: 'it broke' } : 'done';
  });
  const id = await world.ask('x', 'go');
  await expect.poll(async () => (await world.reply(id)).text, { timeout: 5_000 }).toBe('done');
  await opened.close();
});
