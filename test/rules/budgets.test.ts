import { describe, expect, test } from 'vitest';
import { agentStatus } from '../../src/core/status.ts';
import { createWorld, type WorldTurn } from '../helpers/world.ts';

const DAY = 86_400_000;

type World = Awaited<ReturnType<typeof createWorld>>;

const use = (turn: WorldTurn, tokens: number) => turn.tell({ type: 'usage', inputTokens: tokens, outputTokens: 0 });

const numbers = async (world: World) =>
  (await world.budgets()).map(({ used, reserved, waiting }) => ({ used, reserved, waiting }));

const left = async (world: World) =>
  Object.fromEntries((await world.budgets()).map((budget) => [`${budget.scope} ${budget.handle}`, budget.left]));

/** The run of an agent that has not ended. */
async function liveRun(world: World, name: string) {
  const { id } = await world.agentNamed(name);
  const run = await world.store.read((tx) => tx.runs.getLiveRun({ agentId: id }));
  if (!run) throw new Error(`${name} has no run`);
  return run;
}

describe('a reservation', () => {
  test('is made before the turn on every budget above, settled by what is used, and released at the end', async () => {
    const world = await createWorld();
    const lead = await world.create('lead');
    await world.create('worker', lead);
    await world.budget('subtree', 'lead', 'tokens', 100_000);
    await world.budget('agent', 'worker', 'tokens', 60_000);
    await world.budget('agent', 'lead', 'tokens', 7_000);
    let during: unknown;
    world.behave('worker', async (turn) => {
      await use(turn, 1_000);
      during = await left(world);
      return 'done';
    });
    await world.ask('worker', 'go');
    await world.settle();
    expect(during).toEqual({ 'subtree lead': 50_000, 'agent worker': 10_000, 'agent lead': 7_000 });
    expect(await left(world)).toEqual({ 'subtree lead': 99_000, 'agent worker': 59_000, 'agent lead': 7_000 });
  });

  test('never exceeds what is left, and a turn that does not fit waits for those that hold one', async () => {
    const world = await createWorld();
    const lead = await world.create('lead');
    for (const name of ['a', 'b']) await world.create(name, lead);
    await world.budget('subtree', 'lead', 'tokens', 20_000);
    const ended = Promise.withResolvers<void>();
    const begun: string[] = [];
    for (const name of ['a', 'b']) {
      world.behave(name, async (turn) => {
        begun.push(name);
        await use(turn, 2_000);
        if (begun.length === 1) await ended.promise;
        return 'done';
      });
    }
    await world.ask('a', 'go');
    await world.tick();
    const second = await world.ask('b', 'go');
    await world.tick();
    expect(begun).toEqual(['a']);
    expect(await world.view('b')).toMatchObject({ runState: 'created' });
    expect((await liveRun(world, 'b')).error).toMatch(/has nothing left and .* tokens are reserved\. Other turns/);
    expect(await world.openQuestions()).toEqual([]);
    ended.resolve();
    await world.settle();
    expect(begun).toEqual(['a', 'b']);
    expect((await world.reply(second)).text).toBe('done');
    expect(await numbers(world)).toEqual([{ used: 4_000, reserved: 0, waiting: 0 }]);
  });

  test('of an attempt that ends without a number is charged as assumed; a late number replaces it', async () => {
    const world = await createWorld();
    await world.create('x');
    await world.budget('agent', 'x', 'tokens', 200_000);
    world.behave('x', () => 'said nothing about tokens');
    await world.ask('x', 'go');
    await world.settle();
    expect(await numbers(world)).toEqual([{ used: 50_000, reserved: 0, waiting: 0 }]);
    // Cancelled while it runs: what the proxy counted meanwhile is final.
    const started = Promise.withResolvers<WorldTurn>();
    world.behave('x', async (turn) => {
      started.resolve(turn);
      await new Promise(() => {});
      return '';
    });
    await world.ask('x', 'again');
    await world.tick();
    const turn = await started.promise;
    await world.fence(turn.runId);
    expect(await numbers(world)).toEqual([{ used: 100_000, reserved: 0, waiting: 0 }]);
    turn.meter({ model: null, inputTokens: 300, outputTokens: 0 });
    await world.scheduler().renewLeases();
    await world.settle();
    expect(await numbers(world)).toEqual([{ used: 50_300, reserved: 0, waiting: 0 }]);
    const charges = await world.store.read((tx) => tx.budgets.listCharges({ runId: turn.runId }));
    expect(charges).toMatchObject([{ used: 300, grade: 'metered', open: false }]);
  });

  test('is gone after a crash, and counts as used', async () => {
    const world = await createWorld();
    await world.create('x');
    await world.budget('agent', 'x', 'tokens', 120_000);
    let attempts = 0;
    world.behave('x', async (turn) => {
      attempts += 1;
      if (attempts === 1) await new Promise(() => {});
      await use(turn, 10);
      return 'done';
    });
    const id = await world.ask('x', 'go');
    await world.tick();
    await world.crash();
    await world.settle();
    expect((await world.reply(id)).text).toBe('done');
    expect(await numbers(world)).toEqual([{ used: 50_010, reserved: 0, waiting: 0 }]);
  });

  test('negative numbers are refused, and the larger of what was counted holds', async () => {
    const world = await createWorld();
    await world.create('x');
    await world.budget('agent', 'x', 'tokens', 200_000);
    world.behave('x', async (turn) => {
      await use(turn, 5_000);
      await use(turn, -100_000);
      turn.meter({ model: null, inputTokens: 6_000, outputTokens: 0 });
      return 'done';
    });
    await world.ask('x', 'go');
    await world.settle();
    expect(await numbers(world)).toEqual([{ used: 6_000, reserved: 0, waiting: 0 }]);
    world.behave('x', async (turn) => {
      await use(turn, -100_000);
      return 'only a negative number';
    });
    await world.ask('x', 'go');
    await world.settle();
    expect(await numbers(world)).toEqual([{ used: 12_000, reserved: 0, waiting: 0 }]);
  });
});

describe('a budget that is used up in the middle of a turn', () => {
  /** An agent that works in steps of 4,000 tokens, each with a tool call, and counts its attempts. */
  async function createWorker(limit: number, options: Parameters<typeof createWorld>[0] = {}) {
    const world = await createWorld(options);
    await world.create('x');
    await world.budget('agent', 'x', 'tokens', limit);
    const log: string[] = [];
    world.behave('x', async (turn) => {
      for (let step = 1; step <= 4; step += 1) {
        await turn.tell({ type: 'tool_call', id: `${turn.attempt}.${step}`, name: 'work', arguments: {} });
        await use(turn, 4_000);
        await turn.checkBudgets();
        log.push(`${turn.attempt}.${step}`);
        await turn.tell({ type: 'tool_result', id: `${turn.attempt}.${step}`, result: '', isError: false });
        if (turn.signal.aborted) break;
      }
      return 'done';
    });
    return { world, log };
  }

  test('stops it after its tool call, keeps the session and asks once; raise resumes it', async () => {
    const { world, log } = await createWorker(6_000);
    const id = await world.ask('x', 'go');
    await world.settle();
    expect(log).toEqual(['1.1', '1.2']);
    const run = await liveRun(world, 'x');
    expect(run).toMatchObject({ state: 'created', attempt: 1, failures: 0, serves: id });
    expect(run.budgetId).not.toBeNull();
    expect(agentStatus(await world.view('x'), world.clock())).toMatchObject({
      kind: 'stopped',
      reason: 'The budget of x: 6,000 tokens in total has nothing left.',
    });
    const carried = await world.store.read((tx) => tx.deliveries.listCarried({ runId: run.id }));
    expect(carried.map(({ state }) => state)).toEqual(['injected']);
    const [question, ...others] = await world.openQuestions();
    expect(others).toEqual([]);
    expect(question).toMatchObject({ options: ['raise', 'stop', 'model NAME'], handle: 'x' });
    expect(question?.subject).toBe(
      'The budget of x: 6,000 tokens in total is used up. How should its agents continue?',
    );
    await world.pass(60_000);
    await world.settle();
    expect(await world.openQuestions()).toHaveLength(1);
    await expect(world.answer(question?.id ?? '', 'please')).rejects.toThrow('"please" cannot be understood');
    await world.answer(question?.id ?? '', 'raise 100_000');
    await world.settle();
    expect(log.slice(2)).toEqual(['2.1', '2.2', '2.3', '2.4']);
    expect((await world.reply(id)).text).toBe('done');
    expect(await numbers(world)).toEqual([{ used: 24_000, reserved: 0, waiting: 0 }]);
    await expect(world.answer(question?.id ?? '', 'raise')).rejects.toThrow('is closed: answered by user');
  });

  test('is asked about again after a raise that was not enough', async () => {
    const { world } = await createWorker(6_000);
    const id = await world.ask('x', 'go');
    await world.settle();
    const [first] = await world.openQuestions();
    await world.answer(first?.id ?? '', 'raise');
    await world.settle();
    const [second, ...others] = await world.openQuestions();
    expect(others).toEqual([]);
    expect(second?.id).not.toBe(first?.id);
    await world.answer(second?.id ?? '', 'raise by 100,000');
    await world.settle();
    expect((await world.reply(id)).text).toBe('done');
  });

  test('stop cancels what waits with budget_exhausted, and what comes later in the period', async () => {
    const { world } = await createWorker(6_000);
    const id = await world.ask('x', 'go');
    await world.settle();
    const [question] = await world.openQuestions();
    await world.answer(question?.id ?? '', 'stop');
    await world.settle();
    expect((await world.reply(id)).text).toMatch(/^budget_exhausted: The budget of x: 6,000 tokens in total/);
    const later = await world.ask('x', 'again');
    await world.settle();
    expect((await world.reply(later)).text).toMatch(/^budget_exhausted: /);
    expect(await world.openQuestions()).toEqual([]);
  });

  test('another model is given to the agents that wait', async () => {
    const { world } = await createWorker(6_000);
    await world.ask('x', 'go');
    await world.settle();
    const [question] = await world.openQuestions();
    await world.answer(question?.id ?? '', 'model cheap, raise 50000');
    await world.settle();
    expect(await world.agentNamed('x')).toMatchObject({ model: 'cheap' });
    expect(await numbers(world)).toEqual([{ used: 24_000, reserved: 0, waiting: 0 }]);
  });

  test('a tool call that does not end is waited for only so long', async () => {
    const world = await createWorld({ stopAfterMs: 20 });
    await world.create('x');
    await world.budget('agent', 'x', 'tokens', 5_000);
    world.behave('x', async (turn) => {
      await turn.tell({ type: 'tool_call', id: '1', name: 'sleep', arguments: {} });
      await use(turn, 9_000);
      await new Promise(() => {});
      return '';
    });
    await world.ask('x', 'go');
    await world.settle();
    expect(await liveRun(world, 'x')).toMatchObject({ state: 'created', failures: 0 });
    expect(await world.openQuestions()).toHaveLength(1);
  });

  test('the deadlines of the requests behind it stand still, and the tree asks once', async () => {
    const world = await createWorld({ requestDeadlineMs: DAY });
    const lead = await world.create('lead');
    await world.create('worker', lead);
    world.behave('lead', async (turn) => {
      await use(turn, 1_000);
      if (turn.messages[0]?.kind !== 'request') return 'all done';
      await turn.call('send_message', { recipient: 'worker', text: 'please', sync: true });
      return '';
    });
    world.behave('worker', async (turn) => {
      await use(turn, 1_000);
      return 'done';
    });
    await world.budget('subtree', 'lead', 'tokens', 1_900);
    const id = await world.ask('lead', 'go');
    await world.settle();
    const [question, ...others] = await world.openQuestions();
    expect(others).toEqual([]);
    await world.pass(3 * DAY);
    await world.settle();
    expect((await world.reply(id)).state).toBe('open');
    await world.answer(question?.id ?? '', 'raise 100000');
    await world.settle();
    expect(await world.reply(id)).toMatchObject({ state: 'closed', kind: 'reply', text: 'all done' });
  });
});

describe('a budget', () => {
  test('per day begins again at midnight, and its question is withdrawn', async () => {
    const world = await createWorld();
    await world.create('x');
    await world.budget('agent', 'x', 'runs', 2, 'day');
    for (const text of ['one', 'two', 'three']) {
      await world.ask('x', text);
      await world.settle();
    }
    expect(await numbers(world)).toEqual([{ used: 2, reserved: 0, waiting: 1 }]);
    expect(await world.openQuestions()).toHaveLength(1);
    await world.pass(DAY);
    await world.settle();
    expect(await numbers(world)).toEqual([{ used: 1, reserved: 0, waiting: 0 }]);
    expect(await world.openQuestions()).toEqual([]);
  });

  test('per day begins again when the day of the owner does, also on a day of 23 hours', async () => {
    const world = await createWorld({ timeZones: { user: 'Europe/Berlin' } });
    const begun: string[] = [];
    await world.create('x');
    world.behave('x', () => {
      begun.push(new Date(world.clock()).toISOString());
      return 'done';
    });
    await world.pass(Date.parse('2027-03-27T23:00:00Z') - world.clock());
    await world.budget('agent', 'x', 'runs', 1, 'day');
    expect(await world.budgets()).toMatchObject([
      { timeZone: 'Europe/Berlin', renewsAt: Date.parse('2027-03-28T22:00:00Z') },
    ]);
    for (const text of ['one', 'two']) await world.ask('x', text);
    await world.settle();
    await world.pass(22 * 3_600_000);
    await world.settle();
    expect(begun).toEqual(['2027-03-27T23:00:00.000Z']);
    expect(await numbers(world)).toEqual([{ used: 1, reserved: 0, waiting: 1 }]);
    await world.pass(3_600_000);
    await world.settle();
    expect(begun).toEqual(['2027-03-27T23:00:00.000Z', '2027-03-28T22:00:00.000Z']);
  });

  test('of a person has the days of that person; a reservation belongs to the day it was made', async () => {
    const world = await createWorld({ runsPerDay: { anna: 100 }, timeZones: { anna: 'Asia/Tokyo' } });
    await world.create('x');
    const anna = await world.person('anna');
    await world.budget('person', 'anna', 'tokens', 100_000, 'day');
    const isOver = Promise.withResolvers<void>();
    world.behave('x', async (turn) => {
      await isOver.promise;
      await use(turn, 70_000);
      return 'done';
    });
    // It is 17:00 in Tokyo.
    await world.pass(6.5 * 3_600_000);
    await anna.ask('x', 'late');
    await world.tick();
    expect(await numbers(world)).toEqual([{ used: 0, reserved: 50_000, waiting: 0 }]);
    await world.pass(3_600_000);
    expect(await numbers(world)).toEqual([{ used: 0, reserved: 0, waiting: 0 }]);
    isOver.resolve();
    await world.settle();
    expect(await numbers(world)).toEqual([{ used: 0, reserved: 0, waiting: 0 }]);
    await world.setClock(-3_600_000);
    expect(await numbers(world)).toEqual([{ used: 70_000, reserved: 0, waiting: 0 }]);
  });

  test('gets the time zone of the configuration at a start, and what waits looks again', async () => {
    const world = await createWorld();
    await world.create('x');
    await world.budget('agent', 'x', 'runs', 1, 'day');
    await world.pass(10 * 3_600_000);
    for (const text of ['one', 'two']) await world.ask('x', text);
    await world.settle();
    expect(await world.budgets()).toMatchObject([{ used: 1, waiting: 1, timeZone: 'UTC' }]);
    const [{ id } = { id: '' }] = await world.budgets();
    // As the row of an owner who lived in Tokyo, where it is already tomorrow.
    await world.store.write(async (tx) => {
      const row = await tx.budgets.getBudget({ id });
      if (row) await tx.budgets.setBudget({ ...row, timeZone: 'Asia/Tokyo' });
    });
    expect(await world.budgets()).toMatchObject([{ used: 0, waiting: 1 }]);
    await world.moveDays();
    expect(await world.budgets()).toMatchObject([{ used: 1, waiting: 0, timeZone: 'UTC' }]);
    await world.settle();
    expect(await world.budgets()).toMatchObject([{ used: 1, waiting: 1, timeZone: 'UTC' }]);
  });

  test('of a person counts what their messages start, in every tree', async () => {
    const world = await createWorld();
    await world.create('x');
    await world.create('y');
    const anna = await world.person('anna');
    await world.budget('person', 'anna', 'runs', 2);
    for (const name of ['x', 'y']) {
      await anna.ask(name, 'go');
      await world.ask(name, 'from the owner');
      await world.settle();
    }
    expect(await numbers(world)).toEqual([{ used: 2, reserved: 0, waiting: 0 }]);
    await anna.ask('x', 'once more');
    await world.settle();
    expect(await numbers(world)).toEqual([{ used: 2, reserved: 0, waiting: 1 }]);
  });

  test('of time ends a turn that lasts longer', async () => {
    const world = await createWorld();
    await world.create('x');
    await world.budget('agent', 'x', 'seconds', 30);
    const started = Promise.withResolvers<void>();
    world.behave('x', async () => {
      started.resolve();
      await new Promise(() => {});
      return '';
    });
    await world.ask('x', 'go');
    await world.tick();
    await started.promise;
    await world.pass(20_000);
    await world.scheduler().renewLeases();
    expect(await numbers(world)).toEqual([{ used: 20, reserved: 10, waiting: 0 }]);
    await world.pass(11_000);
    await world.scheduler().renewLeases();
    await world.settle();
    expect(await numbers(world)).toEqual([{ used: 31, reserved: 0, waiting: 1 }]);
  });

  test('of money needs a price, and warns once at 80 %', async () => {
    const world = await createWorld({ accounts: { unpriced: [] } });
    await world.create('x');
    await world.create('y', null, { provider: 'unpriced' });
    await world.budget('agent', 'x', 'usd', 1);
    await expect(world.budget('agent', 'y', 'usd', 1)).rejects.toThrow('The price of unpriced is not known.');
    await world.budget('subtree', 'y', 'usd', 1);
    world.behave('x', async (turn) => {
      await use(turn, 850_000);
      return 'done';
    });
    for (const name of ['x', 'y']) await world.ask(name, 'go');
    await world.settle();
    expect(await world.said('dm-user-x')).toContainEqual(
      'system: 85 % of the budget of x: $1.00 in total is used. When all of it is used, turns stop and you are asked.',
    );
    expect(await world.said('dm-user-y')).toContainEqual(expect.stringMatching(/the price of unpriced is not known/));
    expect((await world.budgets()).map(({ handle, used, waiting }) => [handle, used, waiting]).sort()).toEqual([
      ['x', 0.85, 0],
      ['y', 0, 1],
    ]);
  });

  test('that is set or lowered during a turn stops it', async () => {
    const world = await createWorld();
    await world.create('x');
    const started = Promise.withResolvers<void>();
    world.behave('x', async (turn) => {
      if (turn.attempt > 1) return 'done';
      await use(turn, 4_000);
      started.resolve();
      await new Promise(() => {});
      return '';
    });
    const id = await world.ask('x', 'go');
    await world.tick();
    await started.promise;
    await world.budget('agent', 'x', 'tokens', 3_000);
    await world.scheduler().renewLeases();
    await world.settle();
    expect(await numbers(world)).toEqual([{ used: 4_000, reserved: 0, waiting: 1 }]);
    // A higher limit answers the question.
    await world.budget('agent', 'x', 'tokens', 500_000);
    await world.settle();
    expect((await world.reply(id)).text).toBe('done');
    expect(await world.openQuestions()).toEqual([]);
  });

  test('an agent without budget left is passed in a round', async () => {
    const world = await createWorld();
    for (const name of ['a', 'b']) await world.create(name);
    await world.channel('general', ['a', 'b']);
    await world.budget('agent', 'a', 'runs', 1);
    const turns: string[] = [];
    for (const name of ['a', 'b']) {
      world.behave(name, () => {
        turns.push(name);
        return 'ok';
      });
    }
    for (const text of ['one', 'two', 'three']) {
      await world.say('general', text);
      await world.settle();
    }
    expect(turns.filter((name) => name === 'a')).toHaveLength(1);
    expect(turns.filter((name) => name === 'b')).toHaveLength(3);
  });
});
