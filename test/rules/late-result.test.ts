import { expect, test } from 'vitest';
import { readScript } from '../../src/scripting/open.ts';
import { openScripting } from '../../src/scripting/scripting.ts';
import { createCustomTools } from '../../src/tools/custom.ts';
import { createWorld } from '../helpers/world.ts';

test('what a custom tool returns after its run was ended by another process is not recorded', async () => {
  let fence = async () => {};
  const custom = await createCustomTools({
    read: () => ({ entries: [], file: null }),
    code: [{ name: 'pay', description: 'Pays', parameters: [], execute: () => fence() }],
    reserved: [],
    scripting: openScripting(),
    env: {},
    readScript,
    knowledge: undefined,
    log: () => {},
  });
  const world = await createWorld({ customTools: custom.list() });
  await world.create('x');
  let runId = '';
  let returned: unknown;
  world.behave('x', async (turn) => {
    runId = turn.runId;
    fence = () => world.fence(runId);
    returned = await turn.callRaw('pay', {});
    return 'done';
  });
  await world.ask('x', 'go');
  await world.settle();
  expect(returned).toMatchObject({ isError: true, result: { error: { code: 'fenced' } } });
  const records = await world.store.read((tx) => tx.listRecords({ runId }));
  expect(records.map(({ type }) => type)).toEqual(['system_message', 'user_message', 'tool_call_message']);
});
