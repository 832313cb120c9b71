import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Client, type ClientOptions, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { createAnnouncements } from '../../src/mcp/announcements.ts';

const CTX = join(import.meta.dirname, '../../bin/ctx');
const persona = (system: string) =>
  `agent = { description = "Greets", tools = { "search" }, arguments = { { name = "who", required = true } } }
   function agent.resolve(args) return { system = "${system} " .. args.who } end`;

const shout = (description: string) =>
  `tool = { description = "${description}", parameters = { { name = "text", required = true } } }
   function tool.execute(p) return p.text .. "!" end`;

let cwd: string;
let env: Record<string, string>;
let child: ChildProcess;
let url: string;
beforeAll(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'substrat-mcp-'));
  env = {
    PATH: process.env.PATH ?? '',
    HOME: cwd,
    SUBSTRAT_HOME: join(cwd, 'home'),
    CTX_CONFIG: join(cwd, 'ctx.toml'),
  };
  write('greeter.lua', persona('Hello'));
  write('shout.lua', shout('Shouts'));
  write(
    'ctx.toml',
    '[db]\npath = "x.db"\n[tools.script.shout]\npath = "shout.lua"\n[agents.greeter]\npath = "greeter.lua"\n[agents.shouter]\ndescription = "d"\ntools = ["shout"]\nsystem_prompt = "s"\n',
  );
  child = spawn(CTX, ['serve', 'mcp', '--bind', '127.0.0.1:0', '--json'], {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(child.stdout as NodeJS.ReadableStream, 'data');
  url = JSON.parse(String(line)).url;
});
afterAll(async () => {
  child.kill('SIGTERM');
  await once(child, 'exit');
  rmSync(cwd, { recursive: true });
});

function write(path: string, text: string): void {
  mkdirSync(dirname(join(cwd, path)), { recursive: true });
  writeFileSync(join(cwd, path), text);
}

type Era = 'legacy' | 'auto';

/** Called when a client has opened its notification stream. */
const listening = vi.fn();
const watched: typeof fetch = async (input, init) => {
  const response = await fetch(input, init);
  if (init?.method === 'GET' && response.ok) listening();
  return response;
};

async function overHttp(mode: Era, query = '', options: Partial<ClientOptions> = {}): Promise<Client> {
  listening.mockClear();
  const client = new Client({ name: 'test', version: '1' }, { ...options, versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp${query}`), { fetch: watched }));
  return client;
}

async function overStdio(mode: Era, args: string[] = [], options: Partial<ClientOptions> = {}): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, { ...options, versionNegotiation: { mode } });
  await client.connect(
    new StdioClientTransport({ command: CTX, args: ['serve', 'mcp', '--stdio', ...args], cwd, env, stderr: 'inherit' }),
  );
  return client;
}

const names = (list: readonly { readonly name: string }[]) => list.map(({ name }) => name);
const WRONG = [
  'sources',
  'get',
  'shout',
  'Search',
  'SEARCH',
  ' search',
  'search ',
  'search\0',
  'mcp__substrat__search',
  'substrat.search',
  '../search',
  '',
];

describe.each([
  ['HTTP', 'legacy'],
  ['HTTP', 'auto'],
  ['stdio', 'legacy'],
  ['stdio', 'auto'],
] as const)('over %s, for a client of the era %s', (way, era) => {
  test('the prompts and tools are listed', async () => {
    const client = way === 'HTTP' ? await overHttp(era) : await overStdio(era);
    expect(names((await client.listPrompts()).prompts)).toEqual(['greeter', 'shouter']);
    expect(names((await client.listTools()).tools)).toEqual(['search', 'get', 'sources', 'shout']);
    const prompt = await client.getPrompt({ name: 'greeter', arguments: { who: 'you' } });
    expect(prompt.messages).toEqual([{ role: 'user', content: { type: 'text', text: 'Hello you' } }]);
    const { structuredContent } = await client.callTool({ name: 'shout', arguments: { text: 'hi' } });
    expect(structuredContent).toEqual({ result: 'hi!' });
    expect(await client.callTool({ name: 'shout', arguments: {} })).toMatchObject({ isError: true });
    await client.close();
  });

  test('a persona has only its own tools, under any name', async () => {
    const client =
      way === 'HTTP' ? await overHttp(era, '?agent=greeter') : await overStdio(era, ['--agent', 'greeter']);
    expect(names((await client.listTools()).tools)).toEqual(['search']);
    expect(await client.callTool({ name: 'search', arguments: { query: 'x' } })).not.toMatchObject({ isError: true });
    for (const name of WRONG)
      await expect(client.callTool({ name, arguments: {} }), name).rejects.toMatchObject({ code: -32602 });
    await client.close();
  });
});

test('an unknown persona is refused, also on REST', async () => {
  await expect(overHttp('legacy', '?agent=nobody')).rejects.toThrow();
  const ask = async (path: string, body?: object) => {
    const init = body && {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json' },
    };
    const response = await fetch(url + path, init);
    return {
      status: response.status,
      body: (await response.json()) as { tools?: { name: string }[]; result?: unknown },
    };
  };
  for (const path of ['/tools/list', '/mcp']) {
    const twice = await ask(`${path}?agent=shouter&agent=greeter`, path === '/mcp' ? { jsonrpc: '2.0' } : undefined);
    expect(twice).toMatchObject({ status: 400, body: { error: { code: 'bad_request' } } });
  }
  expect(await ask('/tools/list?agent=nobody')).toMatchObject({ status: 404, body: { error: { code: 'not_found' } } });
  expect(names((await ask('/tools/list?agent=greeter')).body.tools ?? [])).toEqual(['search']);
  expect(names((await ask('/tools/list')).body.tools ?? [])).toEqual(['search', 'get', 'sources', 'shout']);
  expect(await ask('/tools/shout', { text: 'hi' })).toEqual({ status: 200, body: { result: 'hi!' } });
  expect(await ask('/tools/shout?agent=greeter', { text: 'hi' })).toMatchObject({ status: 404 });
  expect(await ask('/tools/search?agent=shouter', { query: 'x' })).toMatchObject({ status: 404 });
  expect(await ask('/tools/sources?agent=shouter')).toMatchObject({ status: 404 });
  expect(await ask('/agents/greeter/prompt', { arguments: { who: 'you' } })).toMatchObject({ status: 200 });
});

describe.each([
  ['HTTP', 'legacy'],
  ['HTTP', 'auto'],
  ['stdio', 'legacy'],
  ['stdio', 'auto'],
] as const)('over %s, a client of the era %s', (way, era) => {
  test('is notified when the prompts and the tools change', async () => {
    const [prompts, tools] = [vi.fn(), vi.fn()];
    const listChanged = {
      prompts: { autoRefresh: false, debounceMs: 0, onChanged: prompts },
      tools: { autoRefresh: false, debounceMs: 0, onChanged: tools },
    };
    const client = await (way === 'HTTP' ? overHttp(era, '', { listChanged }) : overStdio(era, [], { listChanged }));
    const word = `${way} ${era}`;
    // In the older era the stream is separate; until it is open, nobody can be notified.
    if (way === 'HTTP' && era === 'legacy')
      await vi.waitFor(() => expect(listening).toHaveBeenCalled(), { timeout: 10_000 });
    write('greeter.lua', persona(word));
    await vi.waitFor(() => expect(prompts).toHaveBeenCalled(), { timeout: 10_000 });
    const { messages } = await client.getPrompt({ name: 'greeter', arguments: { who: 'you' } });
    expect(messages[0]?.content).toMatchObject({ text: `${word} you` });
    // The persona's tools may have changed too, so that is announced as well, maybe slightly later.
    await vi.waitFor(() => expect(tools).toHaveBeenCalled(), { timeout: 10_000 });
    tools.mockClear();
    write('shout.lua', shout(word));
    await vi.waitFor(() => expect(tools).toHaveBeenCalled(), { timeout: 10_000 });
    const listed = (await client.listTools()).tools.find(({ name }) => name === 'shout');
    expect(listed).toMatchObject({ description: word });
    await client.close();
  });
});

test('a listening client is released when it leaves, and when the server closes', async () => {
  const announcements = createAnnouncements();
  const { body } = announcements.open();
  const reader = body?.getReader();
  const read = async () => new TextDecoder().decode((await reader?.read())?.value);
  expect(await read()).toBe(':\n\n');
  announcements.announce('notifications/tools/list_changed');
  expect(await read()).toBe('event: message\ndata: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n');
  const others = Array.from({ length: 255 }, () => announcements.open());
  expect(announcements.open().status).toBe(503);
  await others[0]?.body?.cancel();
  expect(announcements.open().status).toBe(200);
  // Nobody reads these: what is buffered for them is limited.
  for (let i = 0; i < 1000; i += 1) announcements.announce('notifications/tools/list_changed');
  announcements.close();
  expect((await others[1]?.text())?.match(/data:/g)).toHaveLength(7);
});
