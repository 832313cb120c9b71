import { expect, test } from 'vitest';
import * as z from 'zod';
import { agentStatus } from '../../src/core/status.ts';
import { until } from '../helpers/until.ts';
import { createWorld, type WorldOptions, type WorldTurn } from '../helpers/world.ts';

const MINUTE = 60_000;
const progress = { quietMs: 2 * MINUTE, stalledMs: 10 * MINUTE };

test('a turn without a sign of life is quiet, then stalled; the person is told once, with the evidence', async () => {
  const { world, turn, status, told, end } = await begin();
  await turn().tell({ type: 'tool_call', id: '1', name: 'shell', arguments: { command: 'make' } });
  await world.pass(1.9 * MINUTE);
  expect(await status()).toBeNull();
  await world.pass(0.1 * MINUTE);
  expect(await status()).toMatchObject({ kind: 'quiet' });
  expect(await told()).toEqual([]);
  await world.pass(8 * MINUTE);
  const reason = 'Its last event was 10 min ago; its call of shell has been running for 10 min.';
  expect(await status()).toMatchObject({ kind: 'stalled', reason, since: world.clock() - 10 * MINUTE });
  await world.pass(60 * MINUTE);
  expect(await told()).toEqual([expect.stringContaining(`a seems to be stalled. ${reason} It continues`)]);
  expect(turn().signal.aborted).toBe(false);
  // A sign of life.
  await turn().tell({ type: 'tool_result', id: '1', result: 'made', isError: false });
  await until('it works again', async () => (await status()) === null);
  await world.pass(11 * MINUTE);
  expect(await status()).toMatchObject({ kind: 'stalled' });
  expect(await told()).toHaveLength(1);
  expect(await events(world)).toEqual(['quiet', 'stalled', 'working', 'stalled']);
  await end();
  expect(await status()).toBeNull();
});

test.each([
  ['processor time', { cpuMs: 10_000, bytes: 0 }],
  ['network traffic', { cpuMs: 0, bytes: 5_000 }],
])('%s is a sign of life, and silence of it is evidence', async (_, each) => {
  let used = { cpuMs: 0, bytes: 0 };
  const { world, status } = await begin({ activity: () => used });
  for (let minute = 0; minute < 30; minute += 1) {
    used = { cpuMs: used.cpuMs + each.cpuMs, bytes: used.bytes + each.bytes };
    await world.pass(MINUTE);
    expect(await status()).toBeNull();
  }
  // What a waiting program does is less.
  for (let minute = 0; minute < 12; minute += 1) {
    used = { cpuMs: used.cpuMs + 100, bytes: used.bytes + 40 };
    await world.pass(MINUTE);
  }
  expect((await status())?.reason).toMatch(/no processor time for \d+ min; no network traffic for \d+ min/);
});

test('while Substrat executes a call of it, a turn works', async () => {
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  const slow = {
    name: 'slow',
    description: 'Takes long.',
    source: 'ts',
    input: z.object({}),
    call: async () => {
      entered.resolve();
      await held;
      return {};
    },
  } as const;
  const entered = Promise.withResolvers<void>();
  const { world, turn, status, end } = await begin({ customTools: [slow] });
  const calling = turn().call('slow');
  await entered.promise;
  await world.pass(30 * MINUTE);
  expect(await status()).toBeNull();
  release();
  await calling;
  await world.pass(11 * MINUTE);
  expect(await status()).toMatchObject({ kind: 'stalled' });
  await end();
});

test('the same call with the same result again and again is a loop, of Substrat’s tools and of the program’s own', async () => {
  const { world, turn, status, told } = await begin();
  for (let time = 0; time < 9; time += 1) await turn().call('list_agents');
  await world.pass(MINUTE);
  expect(await status()).toBeNull();
  await turn().call('list_agents');
  await world.pass(MINUTE);
  const reason = 'It called list_agents 10 times with the same arguments and the same result.';
  expect(await status()).toMatchObject({ kind: 'looping', reason });
  expect(await told()).toEqual([expect.stringContaining(`a seems to be in a loop. ${reason}`)]);
  await turn().call('check_inbox');
  await world.pass(MINUTE);
  expect(await status()).toBeNull();
  for (let time = 0; time < 20; time += 1) {
    const name = time % 2 === 0 ? 'read' : 'grep';
    await turn().tell({ type: 'tool_call', id: `${time}`, name, arguments: {} });
    await turn().tell({ type: 'tool_result', id: `${time}`, result: name, isError: false });
  }
  await world.pass(MINUTE);
  expect(await status()).toMatchObject({ kind: 'looping', reason: expect.stringContaining('repeated read, grep 10') });
  expect(await told()).toHaveLength(1);
});

test('the same call with other results is not a loop', async () => {
  const { world, turn, status } = await begin();
  for (let time = 0; time < 30; time += 1) {
    await turn().tell({ type: 'tool_call', id: `${time}`, name: 'poll', arguments: {} });
    await turn().tell({ type: 'tool_result', id: `${time}`, result: `${time} %`, isError: false });
  }
  await world.pass(MINUTE);
  expect(await status()).toBeNull();
});

test('a person can extend a stalled turn, is told again afterwards, and can restart it', async () => {
  const { world, turn, status, told } = await begin();
  await world.pass(10 * MINUTE);
  expect(await told()).toHaveLength(1);
  const first = turn();
  await world.extendRun(first.runId, 30 * MINUTE);
  expect(await status()).toMatchObject({ kind: 'quiet' });
  await world.pass(29 * MINUTE);
  expect(await status()).toMatchObject({ kind: 'quiet' });
  expect(await told()).toHaveLength(1);
  await world.pass(MINUTE);
  expect(await status()).toMatchObject({ kind: 'stalled' });
  expect(await told()).toHaveLength(2);
  await world.restartRun(first.runId);
  await until('it runs again', () => turn() !== first);
  expect(turn()).toMatchObject({ runId: first.runId, attempt: 2 });
  expect(await status()).toBeNull();
  const run = await world.store.read((tx) => tx.runs.getRun({ id: first.runId }));
  expect(run).toMatchObject({ failures: 0, progress: null });
  await expect(world.extendRun('nowhere', 1)).rejects.toMatchObject({ code: 'not_found' });
});

test('agents that echo each other are reported once', async () => {
  const world = await createWorld({ maxChainDepth: 100 });
  const a = await world.create('a');
  await world.create('b', a);
  let left = 13;
  world.behave('a', async ({ call }) => {
    if (left-- > 0) await call('send_message', { recipient: 'b', text: 'After you.', sync: false });
    return 'sent';
  });
  world.behave('b', async ({ call }) => {
    await call('send_message', { recipient: 'a', text: 'No, after you.', sync: false });
    return 'No, after you.';
  });
  await world.ask('a', 'go');
  await world.settle();
  const texts = await toldIn(world);
  const echoes = texts.filter((text) => text.includes('seem to echo each other'));
  expect(echoes.length).toBeGreaterThan(0);
  expect(echoes.length).toBeLessThanOrEqual(2);
  expect(echoes[0]).toMatch(/^[ab] and [ab] seem to echo each other: the last 10 turns of [ab] had the same message/);
});

type World = Awaited<ReturnType<typeof createWorld>>;

/** An agent `a` in a turn that lasts until `end`. */
async function begin(options: WorldOptions = {}) {
  const world = await createWorld({ progress, ...options });
  await world.create('a');
  const { promise: ended, resolve } = Promise.withResolvers<string>();
  let current: WorldTurn | null = null;
  world.behave('a', (turn) => {
    current = turn;
    return ended;
  });
  await world.ask('a', 'go');
  await world.scheduler().tick();
  await until('it runs', () => current);
  return {
    world,
    turn: () => current as unknown as WorldTurn,
    status: async () => agentStatus(await world.view('a'), world.clock()),
    told: () => toldIn(world),
    end: async () => {
      resolve('done');
      await world.settle();
    },
  };
}

/** What the daemon told the person. */
async function toldIn({ store }: World): Promise<string[]> {
  return store.read(async (tx) => {
    const created = (await tx.events.listEvents({ after: 0, limit: 1000 })).filter(
      ({ type }) => type === 'message_created',
    );
    const messages = await Promise.all(
      created.map(({ data }) => tx.messages.getMessage({ id: (data as { messageId: string }).messageId })),
    );
    return messages.flatMap((message) => (message?.kind === 'notice' ? [message.text] : []));
  });
}

async function events({ store }: World): Promise<unknown[]> {
  const all = await store.read((tx) => tx.events.listEvents({ after: 0, limit: 1000 }));
  return all.flatMap(({ type, data }) => (type === 'run_progress' ? [(data as { progress: string }).progress] : []));
}
