import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { startDaemon, type TestDaemon } from '../../test/helpers/daemon.ts';

let world: TestDaemon;

beforeAll(async () => {
  world = await startDaemon({ members: { ann: {}, ben: { tools: ['do_nothing', 'store_memory', 'search_memory'] } } });
});
afterAll(() => world.stop());

const toolsOf = async (name: string) => {
  const tools = await world.daemon.doors.getTools(world.agent(name).id);
  return new Map(tools.map((tool) => [tool.name, tool]));
};

test('an agent has the tools of its scope, each bound to it, with a zod schema', async () => {
  const [ann, ben] = [await toolsOf('ann'), await toolsOf('ben')];
  const six = ['send_message', 'react_to_message', 'do_nothing', 'update_memory', 'search_memory', 'store_memory'];
  expect([...ann.keys()]).toEqual(expect.arrayContaining(six));
  expect([...ben.keys()].sort()).toEqual(['do_nothing', 'search_memory', 'store_memory']);
  const shape = z.object(ann.get('update_memory')?.inputSchema ?? {});
  expect(z.toJSONSchema(shape)).toMatchObject({ required: ['label', 'content'] });

  await ann.get('store_memory')?.handler({ content: 'the key is under the mat' });
  expect(await ann.get('search_memory')?.handler({ query: 'key' })).toMatchObject({
    structuredContent: { passages: [{ content: 'the key is under the mat', tags: [] }] },
  });
  expect(await ben.get('search_memory')?.handler({ query: 'key' })).toMatchObject({
    structuredContent: { passages: [] },
  });
  expect(await ben.get('store_memory')?.handler({ content: '' })).toMatchObject({
    isError: true,
    structuredContent: { error: { code: 'bad_request' } },
  });
  expect(await ben.get('do_nothing')?.handler({})).toEqual({
    content: [{ type: 'text', text: '{"action":"none"}' }],
    structuredContent: { action: 'none' },
  });
});

test('each call and its result are recorded in the run', async () => {
  const { items } = await world.client.listRuns({ agent: 'ben' });
  const { messages } = await world.client.getRun(items[0]?.id ?? '');
  expect(messages.map(({ type, tool }) => `${type} ${tool}`)).toEqual([
    'tool_call_message search_memory',
    'tool_return_message search_memory',
    'tool_call_message store_memory',
    'tool_return_message store_memory',
    'tool_call_message do_nothing',
    'tool_return_message do_nothing',
  ]);
});

test('an agent that is not external has tools only during its turns', async () => {
  const agent = await world.client.createAgent({ name: 'echo', program: world.program('echo', "() => 'hi'") });
  const [first] = await world.daemon.doors.getTools(agent.id);
  await expect(first?.handler({})).rejects.toMatchObject({ code: 'not_running' });
  await expect(world.daemon.doors.getTools('nobody')).rejects.toMatchObject({ code: 'not_found' });
});

test('the library example runs', { timeout: 60_000 }, async () => {
  const home = mkdtempSync(join(tmpdir(), 'library-'));
  writeFileSync(join(home, 'config.toml'), '[server]\nbind = "127.0.0.1:0"\n[sandbox]\nmode = "none"\n');
  const example = join(import.meta.dirname, '../../examples/tools.ts');
  const env = { PATH: process.env.PATH, SUBSTRAT_HOME: home };
  const { stdout } = await promisify(execFile)(process.execPath, [example], { cwd: home, env });
  expect(JSON.parse(stdout)).toMatchObject({ passages: [{ content: 'The harbour opens at six.', tags: ['harbour'] }] });
  rmSync(home, { recursive: true });
});
