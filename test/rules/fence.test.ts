import { expect, test } from 'vitest';
import { sessionKeyOf } from '../../src/core/session.ts';
import { createWorld } from '../helpers/world.ts';

test('after another process ended the run, of provider events only what was used is stored', async () => {
  const world = await createWorld();
  const agent = await world.create('x');
  let runId = '';
  world.behave('x', async (turn) => {
    runId = turn.runId;
    await world.fence(turn.runId);
    await turn.tell({ type: 'text', text: 'boo' });
    await turn.tell({ type: 'session', session: 'stolen' });
    await turn.tell({ type: 'usage', inputTokens: 7, outputTokens: 7 });
    await turn.tell({ type: 'tool_call', id: '1', name: 'rm', arguments: {} });
    return 'done';
  });
  const id = await world.ask('x', 'go');
  await world.settle();
  expect(await world.reply(id)).toMatchObject({ kind: 'error', text: 'Another process ended it.', count: 1 });
  await world.store.read(async (tx) => {
    expect((await tx.records.listRecords({ runId })).map(({ type }) => type)).toEqual([
      'system_message',
      'user_message',
    ]);
    expect(await tx.sessions.getSession(sessionKeyOf(agent))).toBeNull();
    expect(await tx.runs.getRun({ id: runId })).toMatchObject({
      inputTokens: 7,
      outputTokens: 7,
      usageGrade: 'reported',
    });
  });
});

test('a refused call is not recorded after another process ended the run', async () => {
  const world = await createWorld();
  await world.create('x');
  let runId = '';
  const codes: unknown[] = [];
  world.behave('x', async (turn) => {
    runId = turn.runId;
    await world.fence(turn.runId);
    for (const args of [{ recipient: 7 }, { recipient: 'USER', text: 'boo' }]) {
      codes.push((await turn.callRaw('send_message', args))?.result.error);
    }
    return 'done';
  });
  await world.ask('x', 'go');
  await world.settle();
  expect(codes).toMatchObject([{ code: 'bad_request' }, { code: 'fenced' }]);
  const records = await world.store.read((tx) => tx.records.listRecords({ runId }));
  expect(records.map(({ type }) => type)).toEqual(['system_message', 'user_message']);
});
