import { describe, expect, test } from 'vitest';
import type { ModelRequest } from '../../src/core/command.ts';
import { createWorld, type WorldTurn } from '../helpers/world.ts';

type World = Awaited<ReturnType<typeof createWorld>>;

const asking = (inputTokens: number, outputTokens: number, model: string | null = null): ModelRequest => ({
  model,
  inputTokens,
  outputTokens,
  leastOutput: Math.min(1_000, outputTokens),
});

/** Asks a model like the proxy, which counts the answer before the request is over. */
async function ask(turn: WorldTurn, request: ModelRequest, used: { inputTokens: number; outputTokens: number }) {
  const admission = await turn.admit(request);
  if (!admission) return null;
  turn.meter({ model: request.model, ...used });
  admission.over();
  await turn.checkBudgets();
  return admission.outputTokens;
}

const numbers = async (world: World) =>
  (await world.budgets()).map(({ used, reserved, waiting }) => ({ used, reserved, waiting }));

describe('a model request', () => {
  test('that does not fit is not sent: the turn ends as a budget stop, and nothing is charged for it', async () => {
    const world = await createWorld();
    await world.create('x');
    await world.budget('agent', 'x', 'tokens', 10_000);
    const sent: (number | null)[] = [];
    world.behave('x', async (turn) => {
      sent.push(await ask(turn, asking(3_000, 500), { inputTokens: 2_900, outputTokens: 100 }));
      // The turn may finish this call, which keeps it from ending before its program does.
      await turn.tell({ type: 'tool_call', id: `${turn.attempt}`, name: 'work', arguments: {} });
      sent.push(await ask(turn, asking(6_500, 4_000), { inputTokens: 6_400, outputTokens: 400 }));
      return 'a text that a program wrote although its request was refused';
    });
    const id = await world.ask('x', 'go');
    await world.settle();
    expect(sent).toEqual([500, null]);
    expect(await numbers(world)).toEqual([{ used: 3_000, reserved: 0, waiting: 1 }]);
    const { id: agentId } = await world.agentNamed('x');
    const run = await world.store.read((tx) => tx.runs.getLiveRun({ agentId }));
    expect(run).toMatchObject({
      state: 'created',
      attempt: 1,
      failures: 0,
      error:
        'The budget of x: 10,000 tokens in total has only 7,000 tokens left. The next request to the model needs 7,500 tokens or more.',
    });
    const [question] = await world.openQuestions();
    await world.answer(question?.id ?? '', 'raise');
    await world.settle();
    expect(sent).toEqual([500, null, 500, 4_000]);
    expect((await world.reply(id)).text).toMatch(/^a text/);
    expect(await numbers(world)).toEqual([{ used: 3_000 + 3_000 + 6_800, reserved: 0, waiting: 0 }]);
  });

  test('may write only what is left', async () => {
    const world = await createWorld();
    await world.create('x');
    await world.budget('agent', 'x', 'tokens', 10_000);
    // Input costs 1 dollar a million tokens, output 2: 4,000 tokens of input and 2,500 of output.
    await world.budget('agent', 'x', 'usd', 0.0090011);
    const granted: (number | null)[] = [];
    world.behave('x', async (turn) => {
      granted.push(await ask(turn, asking(4_000, 64_000), { inputTokens: 4_000, outputTokens: 10 }));
      // A model that is ten times as dear.
      granted.push(await ask(turn, asking(100, 64_000, 'dear'), { inputTokens: 100, outputTokens: 10 }));
      return 'done';
    });
    await world.ask('x', 'go');
    await world.settle();
    expect(granted).toEqual([2_500, null]);
  });

  test('holds what it can use while it is under way: for the same turn, and for others', async () => {
    const world = await createWorld();
    const lead = await world.create('lead');
    for (const name of ['a', 'b']) await world.create(name, lead);
    await world.budget('subtree', 'lead', 'tokens', 200_000);
    const log: string[] = [];
    const answered = Promise.withResolvers<void>();
    world.behave('a', async (turn) => {
      const first = await turn.admit(asking(10_000, 90_000));
      log.push(`first ${first?.outputTokens}`);
      const second = turn.admit(asking(10_000, 90_000, 'second')).then((admission) => {
        log.push(`second ${admission?.outputTokens}`);
        admission?.over();
      });
      await answered.promise;
      turn.meter({ model: null, inputTokens: 10_000, outputTokens: 500 });
      first?.over();
      await second;
      await turn.checkBudgets();
      return 'done';
    });
    world.behave('b', async (turn) => {
      const admission = await turn.admit(asking(10_000, 90_000));
      log.push(`b ${admission?.outputTokens}`);
      return 'done';
    });
    await world.ask('a', 'go');
    await world.tick();
    const id = await world.ask('b', 'go');
    await world.tick();
    // Nothing is left for b, which does not begin.
    expect(log).toEqual(['first 90000', 'second 90000']);
    answered.resolve();
    await world.settle();
    expect(log.slice(2)).toEqual(['b 90000']);
    expect((await world.reply(id)).text).toBe('done');
    expect(await world.openQuestions()).toEqual([]);
  });

  test('waits for those of its own turn that are under way, and is not refused because of them', async () => {
    const world = await createWorld();
    await world.create('x');
    await world.budget('agent', 'x', 'tokens', 12_000);
    const log: string[] = [];
    world.behave('x', async (turn) => {
      const first = await turn.admit(asking(1_000, 64_000));
      log.push(`first ${first?.outputTokens}`);
      const second = turn.admit(asking(1_000, 64_000));
      void second.then((admission) => log.push(`second ${admission?.outputTokens}`));
      await world.budgets();
      log.push('first is answered');
      turn.meter({ model: null, inputTokens: 1_000, outputTokens: 1_000 });
      first?.over();
      const admission = await second;
      turn.meter({ model: null, inputTokens: 1_000, outputTokens: 1_000 });
      admission?.over();
      await turn.checkBudgets();
      return 'done';
    });
    const id = await world.ask('x', 'go');
    await world.settle();
    expect(log).toEqual(['first 11000', 'first is answered', 'second 9000']);
    expect((await world.reply(id)).text).toBe('done');
    expect(await numbers(world)).toEqual([{ used: 4_000, reserved: 0, waiting: 0 }]);
  });

  test('gives back what it did not use, so that others can go on', async () => {
    const world = await createWorld();
    await world.create('x');
    await world.budget('agent', 'x', 'tokens', 500_000);
    const reserved: number[] = [];
    world.behave('x', async (turn) => {
      await ask(turn, asking(10_000, 300_000), { inputTokens: 10_000, outputTokens: 1_000 });
      reserved.push((await world.budgets())[0]?.reserved ?? 0);
      return 'done';
    });
    await world.ask('x', 'go');
    await world.settle();
    expect(reserved).toEqual([39_000]);
  });

  test('that a program makes after its answer does not undo the answer', async () => {
    let late: WorldTurn['admit'] = async () => null;
    const refused: unknown[] = [];
    const world = await createWorld({ onClose: async () => void refused.push(await late(asking(50_000, 1_000))) });
    await world.create('x');
    await world.budget('agent', 'x', 'tokens', 10_000);
    world.behave('x', (turn) => {
      late = turn.admit;
      return 'done';
    });
    const id = await world.ask('x', 'go');
    await world.settle();
    expect(refused).toEqual([null]);
    expect((await world.reply(id)).text).toBe('done');
  });

  test('of an agent without budgets is not limited', async () => {
    const world = await createWorld();
    await world.create('x');
    world.behave('x', async (turn) => `${(await turn.admit(asking(1e9, 1e9)))?.outputTokens}`);
    const id = await world.ask('x', 'go');
    await world.settle();
    expect((await world.reply(id)).text).toBe('1000000000');
  });
});
