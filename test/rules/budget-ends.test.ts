import { expect, test } from 'vitest';
import { createFamily } from '../helpers/family.ts';
import { createWorld } from '../helpers/world.ts';

const TOKENS = { type: 'usage', inputTokens: 4_000, outputTokens: 0, metered: true } as const;

test('what a terminated agent used stays charged, also what its turn in progress had used', async () => {
  const world = await createWorld();
  const lead = await world.create('lead');
  await world.budget('subtree', 'lead', 'tokens', 100_000);
  const drawn = async () => (await world.budgets()).map(({ used, reserved }) => ({ used, reserved }));
  const { promise: busy, resolve } = Promise.withResolvers<void>();
  for (const name of ['a', 'b']) {
    await world.create(name, lead);
    world.behave(name, async (turn) => {
      await turn.tell(TOKENS);
      if (name === 'a') return 'done';
      resolve();
      return new Promise<string>(() => {});
    });
  }
  await world.ask('a', 'go');
  await world.settle();
  await world.terminate('a');
  expect(await drawn()).toEqual([{ used: 4_000, reserved: 0 }]);
  await world.ask('b', 'go');
  await world.tick();
  await busy;
  await world.terminate('b');
  await world.settle();
  const [after] = await drawn();
  expect(after?.reserved).toBe(0);
  expect(after?.used).toBeGreaterThanOrEqual(8_000);
});

test('a turn that a budget stopped is not poked, neither while it waits nor after the owner said stop', async () => {
  const { world, go, call } = await createFamily({ maxAttempts: 1 });
  await world.budget('agent', 'w', 'tokens', 3_000);
  let turns = 0;
  world.behave('w', async (turn) => {
    turns += 1;
    await turn.tell(TOKENS);
    await turn.checkBudgets();
    return new Promise<string>(() => {});
  });
  await go((turn) => turn.call('send_message', { recipient: 'w', text: 'please', sync: false }));
  expect(turns).toBe(1);
  expect(await call('poke')).toMatch(/under way or waits/);
  const [question] = await world.openQuestions();
  await world.answer(question?.id ?? '', 'stop');
  await world.settle();
  expect(await call('poke')).toMatch(/was cancelled|was stopped/);
  expect(turns).toBe(1);
});
