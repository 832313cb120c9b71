import { expect, test } from 'vitest';
import { readScript } from '../../src/scripting/open.ts';
import { openScripting } from '../../src/scripting/scripting.ts';
import { createCustomTools } from '../../src/tools/custom.ts';
import { createWorld, type WorldTurn } from '../helpers/world.ts';

test('the result of a custom tool is not recorded after another process ended its run', async () => {
  let fence = async () => {};
  const world = await worldWith(() => fence());
  let returned: unknown;
  const types = await recordTypes(world, async (turn) => {
    fence = () => world.fence(turn.runId);
    returned = await turn.callRaw('pay', {});
  });
  expect(returned).toMatchObject({ isError: true, result: { error: { code: 'fenced' } } });
  expect(types).toEqual(['system_message', 'user_message', 'tool_call_message']);
});

test.each(['pay', 'list_agents'])('provider events before a call of %s are recorded before the call', async (tool) => {
  const world = await worldWith(() => 'paid');
  const types = await recordTypes(world, async (turn) => {
    await turn.tell({ type: 'text', text: 'I pay' });
    await turn.call(tool);
  });
  expect(types.slice(2, 5)).toEqual(['assistant_message', 'tool_call_message', 'tool_return_message']);
});

async function worldWith(execute: () => unknown) {
  const custom = await createCustomTools({
    read: () => ({ entries: [], file: null }),
    code: [{ name: 'pay', description: 'Pays', parameters: [], execute }],
    reserved: [],
    scripting: openScripting(),
    env: {},
    readScript,
    knowledge: undefined,
    log: () => {},
  });
  return createWorld({ customTools: custom.list() });
}

/** The records of the run that does this. */
async function recordTypes(world: Awaited<ReturnType<typeof createWorld>>, act: (turn: WorldTurn) => Promise<void>) {
  await world.create('x');
  let runId = '';
  world.behave('x', async (turn) => {
    runId = turn.runId;
    await act(turn);
    return 'done';
  });
  await world.ask('x', 'go');
  await world.settle();
  return (await world.store.read((tx) => tx.records.listRecords({ runId }))).map(({ type }) => type);
}
