import { expect, onTestFinished, test } from 'vitest';
import { openStore } from '../../src/store/open.ts';
import { committingInDoubt, failingAtCommit } from '../helpers/repeating-store.ts';
import { until } from '../helpers/until.ts';
import { createWorld } from '../helpers/world.ts';

test('texts are recorded before the calls that follow them', async () => {
  const world = await createWorld();
  await world.create('x');
  let runId = '';
  world.behave('x', async (turn) => {
    runId = turn.runId;
    const say = (text: string) => turn.tell({ type: 'text', text });
    await say('one');
    await say('two');
    await turn.call('list_agents');
    await say('three');
    await turn.tell({ type: 'tool_call', id: 'own', name: 'shell', arguments: {} });
    await say('four');
    await turn.tell({ type: 'tool_result', id: 'own', result: 'ok', isError: false });
    await say('five');
    return 'done';
  });
  await world.ask('x', 'go');
  await world.settle();
  const records = await world.store.read((tx) => tx.records.listRecords({ runId }));
  const told = records
    .slice(2)
    .map(({ type, content, tool }) => tool ?? (type === 'assistant_message' ? content : type));
  expect(told).toEqual([
    'one',
    'two',
    'list_agents',
    'list_agents',
    'three',
    'shell',
    'four',
    'tool_return_message',
    'five',
  ]);
  expect(records.map(({ step }) => step)).toEqual([1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 3]);
});

test('many texts share a commit, and a single text is stored soon', async () => {
  const world = await createWorld();
  await world.create('x');
  let runId = '';
  let commits = 0;
  const { promise: seen, resolve: goOn } = Promise.withResolvers<void>();
  world.behave('x', async (turn) => {
    runId = turn.runId;
    const before = world.store.commits();
    for (let n = 0; n < 3_000; n += 1) await turn.tell({ type: 'text', text: `text ${n}` });
    commits = world.store.commits() - before;
    await turn.tell({ type: 'text', text: 'the last for now' });
    await seen;
    return 'done';
  });
  await world.ask('x', 'go');
  await world.tick();
  const texts = async () => {
    const records = await world.store.read((tx) => tx.records.listRecords({ runId }));
    return records.filter(({ type }) => type === 'assistant_message').map(({ content }) => content);
  };
  while ((await texts()).at(-1) !== 'the last for now') await new Promise((resolve) => setTimeout(resolve, 10));
  expect(await texts()).toEqual([...Array.from({ length: 3_000 }, (_, n) => `text ${n}`), 'the last for now']);
  expect(commits).toBeLessThan(300);
  goOn();
  await world.settle();
});

test('provider events are stored once, even if the outcome of their commit is unknown', async () => {
  const failing = failingAtCommit(await openStore({ path: ':memory:' }));
  onTestFinished(() => failing.close());
  const store = committingInDoubt(failing);
  const world = await createWorld({ store });
  await world.create('x');
  let runId = '';
  world.behave('x', async (turn) => {
    runId = turn.runId;
    const say = (text: string) => turn.tell({ type: 'text', text });
    const shell = (id: string) => turn.tell({ type: 'tool_call', id, name: 'shell', arguments: {} });
    await say('.');
    await say('.');
    await turn.tell({ type: 'usage', inputTokens: 7, outputTokens: 3 });
    store.doubts = 2;
    await shell('in doubt');
    await say('.');
    failing.failNext();
    store.doubts = 1;
    await shell('failed, then in doubt');
    await turn.tell({ type: 'usage', inputTokens: 10, outputTokens: 20 });
    store.doubts = 2;
    return 'done';
  });
  const id = await world.ask('x', 'go');
  await until('the reply', async () => (await world.reply(id)).text === 'done');
  expect(store.doubts).toBe(0);
  const records = await store.read((tx) => tx.records.listRecords({ runId }));
  const told = records.slice(2).map(({ callId, content }) => callId ?? content);
  expect(told).toEqual(['.', '.', 'in doubt', '.', 'failed, then in doubt']);
  expect(await store.read((tx) => tx.runs.getRun({ id: runId }))).toMatchObject({ inputTokens: 17, outputTokens: 23 });
  await world.settle();
});
