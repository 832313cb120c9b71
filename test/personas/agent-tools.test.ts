import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { startDaemon, type TestDaemon } from '../helpers/daemon.ts';
import { connectAgent } from '../helpers/mcp.ts';
import { startDaemonProcess } from '../helpers/substrat.ts';
import { until } from '../helpers/until.ts';

const shout = (mark: string) =>
  `tool = { description = "Shouts", parameters = { { name = "text", required = true } } }
   function tool.execute(params) return { said = params.text .. "${mark}" } end`;
const config = '[tools.script.shout]\npath = "tools/shout.lua"\n[tools.script.whisper]\npath = "tools/whisper.lua"\n';

let world: TestDaemon;
beforeAll(async () => {
  world = await startDaemon({ config });
  write('tools/shout.lua', shout('!'));
  write('tools/whisper.lua', 'this is not Lua');
  await (await world.daemon.extensions.open()).tools.reload();
});
afterAll(() => world.stop());

function write(path: string, text: string): void {
  mkdirSync(dirname(join(world.directory, path)), { recursive: true });
  writeFileSync(join(world.directory, path), text);
}

const joinAs = async (name: string, tools: string[] | null) => {
  const { id: agentId } = await world.client.createAgent({ name, provider: 'external', tools });
  return { agentId, ...(await connectAgent({ home: world.home, agentId })) };
};
const listed = async ({ client }: Awaited<ReturnType<typeof joinAs>>) =>
  (await client.listTools()).tools.map(({ name }) => name);

test('a script is a tool of every agent with it in scope, validated and recorded', async () => {
  await using free = await joinAs('free', null);
  const { tools } = await free.client.listTools();
  expect(tools.find(({ name }) => name === 'shout')).toMatchObject({
    description: 'Shouts',
    inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  });
  expect(await free.call('shout', { text: 'hi' })).toMatchObject({ value: { result: { said: 'hi!' } } });
  expect(await free.call('shout', { text: 1 })).toMatchObject({
    isError: true,
    value: { error: { code: 'bad_request' } },
  });
  const { items } = await world.client.listRuns({ agent: free.agentId });
  const { messages } = await world.client.getRun(items[0]?.id as string);
  expect(messages.map(({ type, tool, content }) => [type, tool, content])).toEqual([
    ['tool_call_message', 'shout', { text: 'hi' }],
    ['tool_return_message', 'shout', { result: { said: 'hi!' } }],
    ['tool_call_message', 'shout', { text: 1 }],
    ['tool_return_message', 'shout', { error: { code: 'bad_request', message: expect.any(String) } }],
  ]);
});

test('outside the scope the tool does not exist, under any name', async () => {
  await using narrow = await joinAs('narrow', ['search']);
  await using named = await joinAs('named', ['shout', 'whisper']);
  expect(await listed(narrow)).toEqual(['search']);
  expect(await listed(named)).toEqual(['shout']);
  for (const name of ['shout', 'Shout', 'SHOUT', ' shout', 'shout\0', 'substrat.shout', 'mcp__substrat__shout']) {
    await expect(narrow.client.callTool({ name, arguments: { text: 'x' } }), name).rejects.toMatchObject({
      code: -32602,
    });
    if (name === 'shout') continue;
    await expect(named.client.callTool({ name, arguments: { text: 'x' } }), name).rejects.toMatchObject({
      code: -32602,
    });
  }
  await expect(world.client.createAgent({ name: 'x', provider: 'external', tools: ['yell'] })).rejects.toMatchObject({
    code: 'bad_request',
    message: expect.stringContaining('Unknown tools: yell'),
  });
});

test('lists the current tools', async () => {
  await using agent = await joinAs('patient', ['shout', 'whisper']);
  write('tools/whisper.lua', shout('...'));
  await vi.waitFor(async () => expect(await listed(agent)).toEqual(['shout', 'whisper']), { timeout: 10_000 });
  expect(await agent.call('whisper', { text: 'hi' })).toMatchObject({ value: { result: { said: 'hi...' } } });
  write('substrat.toml', '[server]\nbind = "127.0.0.1:0"\n[tools.script.whisper]\npath = "tools/whisper.lua"\n');
  await vi.waitFor(async () => expect(await listed(agent)).toEqual(['whisper']), { timeout: 10_000 });
  await expect(agent.client.callTool({ name: 'shout', arguments: { text: 'x' } })).rejects.toMatchObject({
    code: -32602,
  });
});

test('endlessly nested arguments are refused and affect nobody else', async () => {
  write(
    'tools/whisper.lua',
    'tool = { parameters = { { name = "list", type = "array" } } } function tool.execute() return "ok" end',
  );
  await (await world.daemon.extensions.open()).tools.reload();
  await using agent = await joinAs('nester', null);
  for (const depth of [65, 2_000]) {
    const list = JSON.parse('['.repeat(depth) + ']'.repeat(depth)) as unknown[];
    await expect(agent.call('whisper', { list })).rejects.toThrow('JSON may be nested at most 64 deep.');
  }
  expect(await agent.call('whisper', { list: [[1]] })).toMatchObject({ value: { result: 'ok' } });
});

test.each(['legacy', 'auto'] as const)('an agent of the era %s is notified when its tools change', async (era) => {
  const { id: agentId } = await world.client.createAgent({ name: `told-${era}`, provider: 'external' });
  const changed = vi.fn();
  const listChanged = { tools: { autoRefresh: false, debounceMs: 0, onChanged: changed } };
  await using agent = await connectAgent({ home: world.home, agentId, era, options: { listChanged } });
  const described = async () =>
    (await agent.client.listTools()).tools.find(({ name }) => name === 'whisper')?.description;
  expect(await described()).not.toBe(era);
  write('tools/whisper.lua', shout('?').replace('Shouts', era));
  await vi.waitFor(() => expect(changed).toHaveBeenCalled(), { timeout: 10_000 });
  expect(await described()).toBe(era);
});

test('tools and personas can be added to a configuration that had none', async () => {
  await using other = await startDaemon({ members: { me: {} } });
  const changed = vi.fn();
  const listChanged = { tools: { autoRefresh: false, debounceMs: 0, onChanged: changed } };
  const agentId = other.agent('me').id;
  await using me = await connectAgent({ home: other.home, agentId, options: { listChanged } });
  const count = async () => (await me.client.listTools()).tools.length;
  const before = await count();
  writeFileSync(join(other.directory, 'shout.lua'), shout('!'));
  const persona = '[agents.x]\ndescription = "d"\nsystem_prompt = "s"\n';
  const more = `[server]\nbind = "127.0.0.1:0"\n[tools.script.shout]\npath = "shout.lua"\n${persona}`;
  writeFileSync(join(other.directory, 'substrat.toml'), more);
  await vi.waitFor(() => expect(changed).toHaveBeenCalled(), { timeout: 10_000 });
  expect(await count()).toBe(before + 1);
  expect(await other.client.createAgent({ name: 'x', provider: 'external', persona: 'x' })).toMatchObject({
    tools: [],
  });
});

test('a call that a killed daemon had started is not silently repeated', async () => {
  const home = join(world.directory, 'other-home');
  const config = join(world.directory, 'other/substrat.toml');
  write('other/slow.lua', 'tool = { description = "Slow" } function tool.execute() sleep(25) return "done" end');
  const settings = '[server]\nbind = "127.0.0.1:0"\n[sandbox]\nmode = "none"\n';
  write('other/substrat.toml', `${settings}[tools.script.slow]\npath = "slow.lua"\n`);
  const program = world.program('caller', "async ({ call }) => call('slow').then(JSON.stringify, (e) => e.message)");
  const first = await startDaemonProcess({ home, config });
  await first.client.createAgent({ name: 'caller', program, tools: ['slow'] });
  const { messageId } = await first.client.sendMessage('caller', { text: 'go' });
  await until('the script has begun', async () => {
    const { items } = await first.client.listRuns({ agent: 'caller' });
    const { messages } = await first.client.getRun(items[0]?.id as string);
    return messages.some(({ tool }) => tool === 'slow');
  });
  await first.kill();
  const second = await startDaemonProcess({ home, config });
  const reply = await second.client.awaitReply(messageId, 20);
  expect(reply?.text).toContain('outcome unknown: an earlier attempt of this turn called slow');
  expect(await second.stop()).toBe(0);
});
