import { describe, expect, test } from 'vitest';
import { createWorld } from '../helpers/world.ts';

const DAY = 86_400_000;

/** A tree with a child, whose turns use as many tokens as their message says. */
async function spenders(firstDayTokens: number) {
  const world = await createWorld({ firstDayTokens });
  const lead = await world.create('lead');
  await world.create('child', lead);
  for (const name of ['lead', 'child']) {
    world.behave(name, async ({ messages, tell, checkBudgets }) => {
      await tell({ type: 'usage', inputTokens: Number(messages[0]?.text), outputTokens: 0 });
      await checkBudgets();
      return 'done';
    });
  }
  const spend = async (name: string, tokens: number) => {
    await world.tell(name, String(tokens), null);
    await world.settle();
  };
  const told = async () => (await world.said('dm-lead-user')).filter((line) => line.includes(' % of '));
  return { world, spend, told };
}

describe('the tokens of the first day', () => {
  test('are told about once at 80 %, with what descendants use, and asked about when they are used up', async () => {
    const { world, spend, told } = await spenders(100_000);
    await spend('lead', 40_000);
    expect(await told()).toEqual([]);
    await spend('child', 41_000);
    expect(await told()).toEqual([
      'system: 81 % of the budget of lead and its descendants: 100,000 tokens on its first day is used. When all of it is used, turns stop and you are asked.',
    ]);
    await spend('child', 18_500);
    await spend('lead', 5);
    expect((await world.budgets()).map(({ used, waiting }) => [used, waiting])).toEqual([[99_500, 1]]);
    const [question] = await world.openQuestions();
    expect(question?.subject).toContain('100,000 tokens on its first day is used up');
    expect(await told()).toHaveLength(1);
    await world.answer(question?.id ?? '', 'raise');
    await world.settle();
    expect((await world.budgets()).map(({ used, waiting }) => [used, waiting])).toEqual([[99_505, 0]]);
  });

  test('limit nothing after 24 hours: what waited continues, and its question is withdrawn', async () => {
    const { world, spend } = await spenders(50_000);
    await spend('lead', 50_000);
    await spend('child', 7);
    expect(await world.openQuestions()).toHaveLength(1);
    await world.pass(DAY - 1_000);
    await world.settle();
    expect(await world.openQuestions()).toHaveLength(1);
    await world.pass(1_000);
    await world.settle();
    expect(await world.openQuestions()).toEqual([]);
    await spend('lead', 500_000);
    expect((await world.view('lead')).runState).toBeNull();
    expect((await world.view('child')).runState).toBeNull();
  });
});
