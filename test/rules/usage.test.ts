import { expect, test } from 'vitest';
import { createAttempt } from '../../src/runs/attempt.ts';
import { countRest } from '../../src/runs/turn-usage.ts';
import { createWorld } from '../helpers/world.ts';

type World = Awaited<ReturnType<typeof createWorld>>;

const used = (world: World, runId: string) =>
  world.store.read(async (tx) => {
    const run = await tx.runs.getRun({ id: runId });
    const rows = await tx.runs.listRunUsage({ runId });
    return {
      sum: [run?.inputTokens, run?.outputTokens, run?.usageGrade],
      rows: rows.map(({ attempt, grade, inputTokens, outputTokens }) => [attempt, grade, inputTokens, outputTokens]),
    };
  });

test('what the daemon counted and what the program reports are both stored, and the larger number counts', async () => {
  const world = await createWorld();
  await world.create('x');
  let runId = '';
  world.behave('x', async (turn) => {
    ({ runId } = turn);
    for (const inputTokens of [60, 40]) turn.meter({ model: null, inputTokens, outputTokens: 5 });
    await turn.tell({ type: 'usage', inputTokens: 1, outputTokens: 12 });
    return 'done';
  });
  await world.ask('x', 'go');
  await world.settle();
  const rows = [
    [1, 'metered', 100, 10],
    [1, 'reported', 1, 12],
  ];
  expect(await used(world, runId)).toEqual({ sum: [100, 12, 'metered'], rows });
});

test('each attempt counts, and what was used counts when the run is not the attempt’s any more', async () => {
  const world = await createWorld();
  await world.create('x');
  let runId = '';
  world.behave('x', async (turn) => {
    ({ runId } = turn);
    if (turn.attempt === 1) {
      await turn.tell({ type: 'usage', inputTokens: 10, outputTokens: 1, metered: true });
      return { failure: 'crash' };
    }
    await world.fence(turn.runId);
    turn.meter({ model: null, inputTokens: 20, outputTokens: 2 });
    await turn.tell({ type: 'tool_call', id: '1', name: 'ls', arguments: {} });
    return 'done';
  });
  await world.ask('x', 'go');
  await world.settle();
  await world.pass(60_000);
  await world.settle();
  const rows = [
    [1, 'metered', 10, 1],
    [2, 'metered', 20, 2],
  ];
  expect(await used(world, runId)).toEqual({ sum: [30, 3, 'metered'], rows });
});

test('what nobody counted is assumed, only of a program that had started', async () => {
  const world = await createWorld();
  const agent = await world.create('x');
  let runId = '';
  world.behave('x', (turn) => {
    ({ runId } = turn);
    return 'done';
  });
  await world.ask('x', 'go');
  await world.settle();
  const run = await world.store.read((tx) => tx.runs.getRun({ id: runId }));
  if (!run) throw new Error('There is no run.');
  const program = { command: 'p', install: '', versionProblem: null };
  const about = { name: 'p', settings: () => ({}), program };
  const count = (own: boolean, isSpawned: boolean, before = false) => {
    const attempt = createAttempt(run, agent);
    if (before) attempt.usage.add('reported', { inputTokens: 1, outputTokens: 1, costUsd: 0 });
    const provider = () => ({ about: { ...about, runsOwnProgram: own }, runTurn: () => Promise.reject() as never });
    const deps = { provider, prices: () => ({ input: 1_000_000, output: 0 }) };
    countRest(deps, { attempt, agent, prompt: 'x'.repeat(40) }, { isSpawned, characters: 8, isCounted: false });
    return attempt.usage.of('assumed');
  };
  expect(count(false, true)).toEqual({ inputTokens: 10, outputTokens: 2, costUsd: 10 });
  expect([count(false, false), count(true, true), count(false, true, true)]).toEqual([undefined, undefined, undefined]);
});

test('numbers that no turn uses do not stop the store', async () => {
  const world = await createWorld();
  await world.create('x');
  const runs: string[] = [];
  const reported = [
    [Number.NaN, Number.POSITIVE_INFINITY],
    [-5, 1.5],
    [1e300, 2 ** 70],
    [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
  ];
  world.behave('x', async (turn) => {
    runs.push(turn.runId);
    for (const [inputTokens = 0, outputTokens = 0] of reported)
      for (let n = 0; n < 3; n += 1)
        await turn.tell({ type: 'usage', inputTokens, outputTokens, costUsd: Math.abs(inputTokens) });
    return 'done';
  });
  for (let n = 0; n < 2; n += 1) await world.ask('x', 'go');
  await world.settle();
  for (const id of runs) expect((await used(world, id)).sum).toEqual([1e12, 1e12, 'reported']);
  expect(await world.store.read((tx) => tx.runs.getRun({ id: runs[0] ?? '' }))).toMatchObject({ state: 'completed' });
});
