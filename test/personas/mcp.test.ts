import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';

const CTX = join(import.meta.dirname, '../../bin/ctx');
const persona = (system: string) =>
  `agent = { description = "Greets", tools = { "search" }, arguments = { { name = "who", required = true } } }
   function agent.resolve(args) return { system = "${system} " .. args.who } end`;

let cwd: string;
let env: Record<string, string>;
let child: ChildProcess;
let url: string;
beforeAll(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'substrat-mcp-'));
  env = { PATH: process.env.PATH ?? '', HOME: cwd, SUBSTRAT_HOME: join(cwd, 'home') };
  write('greeter.lua', persona('Hello'));
  write(
    'shout.lua',
    'tool = { description = "Shouts", parameters = { { name = "text", required = true } } } function tool.execute(p) return p.text .. "!" end',
  );
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

async function overHttp(mode: Era, query = ''): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp${query}`)));
  return client;
}

async function overStdio(mode: Era, ...args: string[]): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
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
  test('the prompts and tools are there', async () => {
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

  test('a persona has its tools and no others, by any name', async () => {
    const client = way === 'HTTP' ? await overHttp(era, '?agent=greeter') : await overStdio(era, '--agent', 'greeter');
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
  expect(await ask('/tools/list?agent=nobody')).toMatchObject({ status: 404, body: { error: { code: 'not_found' } } });
  expect(names((await ask('/tools/list?agent=greeter')).body.tools ?? [])).toEqual(['search']);
  expect(names((await ask('/tools/list')).body.tools ?? [])).toEqual(['search', 'get', 'sources', 'shout']);
  expect(await ask('/tools/shout', { text: 'hi' })).toEqual({ status: 200, body: { result: 'hi!' } });
  expect(await ask('/tools/shout?agent=greeter', { text: 'hi' })).toMatchObject({ status: 404 });
  expect(await ask('/tools/search?agent=shouter', { query: 'x' })).toMatchObject({ status: 404 });
  expect(await ask('/tools/sources?agent=shouter')).toMatchObject({ status: 404 });
  expect(await ask('/agents/greeter/prompt', { arguments: { who: 'you' } })).toMatchObject({ status: 200 });
});

test('a client is told when the prompts change', async () => {
  const client = await overStdio('legacy');
  const told = vi.fn();
  client.setNotificationHandler('notifications/prompts/list_changed', told);
  await client.listPrompts();
  write('greeter.lua', persona('Good morning'));
  await vi.waitFor(() => expect(told).toHaveBeenCalled(), { timeout: 10_000 });
  const { messages } = await client.getPrompt({ name: 'greeter', arguments: { who: 'you' } });
  expect(messages[0]?.content).toMatchObject({ text: 'Good morning you' });
  await client.close();
});
