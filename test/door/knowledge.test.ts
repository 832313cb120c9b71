import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startDaemon, type TestDaemon } from '../helpers/daemon.ts';
import { connectAgent } from '../helpers/mcp.ts';
import { until } from '../helpers/until.ts';

const ROOT = join(import.meta.dirname, '../..');
const BIN = join(ROOT, 'node_modules/.bin');
const run = promisify(execFile);
const ENV = { ...process.env, PATH: `${BIN}:${process.env.PATH}` };

let directory: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'door-'));
  mkdirSync(join(directory, 'docs'));
  writeFileSync(join(directory, 'docs/deploy.md'), '# Deploying\n\nRun the deploy script with foo-bar.\n');
  writeFileSync(join(directory, 'docs/lunch.md'), '# Lunch\n\nAt noon.\n');
});
afterAll(() => rmSync(directory, { recursive: true }));

/** Runs `ctx` as a program and returns its output. */
async function ctx(config: string, home: string, ...args: string[]): Promise<string> {
  const env = { ...ENV, SUBSTRAT_HOME: home };
  return (await run(process.execPath, [join(ROOT, 'src/ctx/main.ts'), '--config', config, ...args], { env })).stdout;
}

const connect = async (url: string, era: 'legacy' | 'auto', token?: string) => {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: era } });
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } }));
  return client;
};

const askOver =
  (url: string, headers: Record<string, string>) => async (method: string, path: string, body?: unknown) => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    return { status: response.status, json: (await response.json()) as Answer };
  };

// biome-ignore lint/suspicious/noExplicitAny: what comes is compared field by field.
type Answer = any;
type Ask = ReturnType<typeof askOver>;

/** The contract of every endpoint. */
async function expectSeed004(ask: Ask): Promise<void> {
  const { status, json } = await ask('POST', '/tools/search', { query: 'deploy foo-bar', mode: 'keyword', limit: 1 });
  expect(status).toBe(200);
  expect(json.result).toEqual({
    results: [
      {
        id: expect.any(String),
        score: 1,
        title: 'Deploying',
        source: 'filesystem:docs',
        source_id: 'deploy.md',
        updated_at: expect.stringMatching(/^\d{4}-.*Z$/),
        snippet: '# Deploying\n\nRun the deploy script with foo-bar.',
        source_url: expect.any(String),
      },
    ],
  });
  const { id } = json.result.results[0];
  expect((await ask('POST', '/tools/get', { id })).json.result).toMatchObject({
    ...{ id, source: 'filesystem:docs', source_id: 'deploy.md', title: 'Deploying', author: null },
    ...{ content_type: 'text/markdown', metadata: {}, body: expect.stringContaining('foo-bar') },
    chunks: [{ index: 0, text: expect.stringContaining('foo-bar') }],
  });
  expect((await ask('GET', '/tools/sources')).json.result).toEqual({
    sources: [{ name: 'filesystem:docs', configured: true, healthy: true, notes: null }],
  });
  const { tools } = (await ask('GET', '/tools/list')).json;
  expect(tools.map(({ name, builtin }: { name: string; builtin: boolean }) => [name, builtin])).toEqual([
    ['search', true],
    ['get', true],
    ['sources', true],
  ]);
  expect(tools[0].parameters).toMatchObject({ type: 'object', required: ['query'] });
  expect(Object.keys(tools[0])).toEqual(['name', 'description', 'builtin', 'parameters']);
  expect((await ask('POST', '/tools/sources', {})).json).toHaveProperty('result.sources');

  const refused: [string, string, unknown, number, string][] = [
    ['POST', '/tools/search', {}, 400, 'bad_request'],
    ['POST', '/tools/search', { query: ' ' }, 400, 'bad_request'],
    ['POST', '/tools/search', { query: 'x', filters: { since: 'yesterday' } }, 400, 'bad_request'],
    ['POST', '/tools/search', { query: 'x', limits: 3 }, 400, 'bad_request'],
    ['POST', '/tools/search', '{"query":', 400, 'bad_request'],
    ['POST', '/tools/search', { query: 'x', mode: 'semantic' }, 400, 'embeddings_disabled'],
    ['POST', '/tools/get', { id: 'nothing' }, 404, 'not_found'],
    ['POST', '/tools/nothing', {}, 404, 'not_found'],
  ];
  for (const [method, path, body, wanted, code] of refused) {
    const answer = await ask(method, path, body);
    expect([path, answer.status, answer.json]).toEqual([
      path,
      wanted,
      { error: { code, message: expect.any(String) } },
    ]);
  }
}

async function expectMcp(client: Client): Promise<void> {
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['search', 'get', 'sources']);
  expect((await client.listPrompts()).prompts).toEqual([]);
  const found = await client.callTool({ name: 'search', arguments: { query: 'deploy' } });
  const { results } = found.structuredContent as { results: { id: string; title: string }[] };
  expect(results[0]?.title).toBe('Deploying');
  expect(JSON.parse((found.content as { text: string }[])[0]?.text ?? '')).toEqual({ results });
  const missing = await client.callTool({ name: 'get', arguments: { id: 'nothing' } });
  expect(missing).toMatchObject({ isError: true, structuredContent: { error: { code: 'not_found' } } });
  await expect(client.callTool({ name: 'nothing', arguments: {} })).rejects.toThrow('There is no tool "nothing"');
  await client.close();
}

describe('on the daemon', () => {
  let world: TestDaemon;
  let url: string;
  beforeAll(async () => {
    const config = `[connectors.filesystem.docs]\nroot = ${JSON.stringify(join(directory, 'docs'))}\n`;
    world = await startDaemon({ config, members: { reader: {}, clerk: { tools: ['list_agents'] } } });
    // `ctx` works next to the daemon, on its store.
    await ctx(join(world.directory, 'substrat.toml'), world.home, 'sync');
    url = (await world.daemon.api.status()).url as string;
  });
  afterAll(() => world.stop());

  test('routes, fields and errors match seed 004, with the token', async () => {
    await expectSeed004(askOver(url, { authorization: `Bearer ${world.daemon.home.token}` }));
    for (const [method, path] of [
      ['POST', '/tools/search'],
      ['GET', '/tools/list'],
      ['POST', '/mcp'],
    ] as const) {
      const answer = await askOver(url, {})(method, path, method === 'POST' ? { query: 'x' } : undefined);
      expect(answer).toMatchObject({ status: 401, json: { error: { code: 'unauthorized' } } });
    }
    expect((await askOver(url, {})('GET', '/health')).json).toEqual({
      status: 'ok',
      name: 'daemon',
      version: expect.stringMatching(/^\d+\.\d+/),
    });
    const anna = await world.client.createToken({ as: 'anna' });
    const other = await askOver(url, { authorization: `Bearer ${anna.token}` })('GET', '/tools/sources');
    expect(other).toMatchObject({ status: 403, json: { error: { code: 'forbidden' } } });
  });

  test('an MCP body is limited before it is parsed, and refused as JSON-RPC', async () => {
    const wide = Object.fromEntries(Array.from({ length: 10_001 }, (_, i) => [`k${i}`, 1]));
    const ask = askOver(url, {
      authorization: `Bearer ${world.daemon.home.token}`,
      accept: 'application/json, text/event-stream',
    });
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'search', arguments: wide } };
    const message = 'JSON may have at most 10000 keys and elements.';
    expect(await ask('POST', '/mcp', call)).toMatchObject({
      status: 400,
      json: { jsonrpc: '2.0', id: null, error: { code: -32600, message } },
    });
    const large = { ...call, params: { name: 'search', arguments: { query: 'x'.repeat(8 * 1024 * 1024) } } };
    expect(await ask('POST', '/mcp', large)).toMatchObject({ status: 413, json: { jsonrpc: '2.0', id: null } });
    expect(await ask('POST', '/tools/search', { ...wide, query: 'x' })).toMatchObject({
      status: 400,
      json: { error: { code: 'bad_request', message } },
    });
  });

  test.each(['legacy', 'auto'] as const)('MCP is served to clients of the era %s', async (era) => {
    await expectMcp(await connect(url, era, world.daemon.home.token));
  });

  test('agents have the same tools, unless their scope excludes them', async () => {
    await using agent = await connectAgent({ home: world.home, agentId: world.agent('reader').id });
    const { value } = await agent.call('search', { query: 'deploy script' });
    const [first] = value.results as { id: string; title: string }[];
    expect(first?.title).toBe('Deploying');
    expect((await agent.call('get', { id: first?.id })).value).toMatchObject({
      title: 'Deploying',
      chunks: [{ index: 0 }],
    });
    expect((await agent.call('sources')).value).toMatchObject({ sources: [{ name: 'filesystem:docs' }] });
    expect((await agent.call('get', { id: 'nothing' })).value.error?.code).toBe('not_found');
    expect((await agent.call('search', { query: 'x', mode: 'semantic' })).value.error?.code).toBe(
      'embeddings_disabled',
    );
    await using clerk = await connectAgent({ home: world.home, agentId: world.agent('clerk').id });
    await expect(clerk.call('search', { query: 'x' })).rejects.toThrow('no tool "search" in the scope');
  });
});

describe('ctx serve mcp', () => {
  let config: string;
  let home: string;
  beforeAll(async () => {
    [config, home] = [join(directory, 'ctx.toml'), join(directory, 'home')];
    writeFileSync(
      config,
      '[db]\npath = "./ctx.sqlite"\n[server]\nbind = "127.0.0.1:0"\n[connectors.filesystem.docs]\nroot = "docs"\n',
    );
    await ctx(config, home, 'sync');
  });

  const serve = async (...flags: string[]) => serveWith({}, ...flags);
  const serveWith = async (env: Readonly<Record<string, string>>, ...flags: string[]) => {
    const args = [join(ROOT, 'src/ctx/main.ts'), '--config', config, '--json', 'serve', 'mcp', ...flags];
    const child = spawn(process.execPath, args, {
      env: { ...ENV, SUBSTRAT_HOME: home, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let said = '';
    child.stderr.on('data', (data: Buffer) => {
      said += data;
    });
    const [line] = await Promise.race([once(child.stdout, 'data'), once(child, 'exit').then(() => [null])]);
    return {
      url: line === null ? null : (JSON.parse(String(line)).url as string),
      said: () => said,
      [Symbol.asyncDispose]: async () => {
        if (child.exitCode !== null) return;
        child.kill('SIGTERM');
        const [code] = await once(child, 'exit');
        expect(code).toBe(0);
      },
    };
  };

  test('needs no token: routes, both eras of MCP, and only its own Host and Origin', async () => {
    await using served = await serve();
    const url = served.url as string;
    await until('it warns', () =>
      served.said().includes('warning: no token is set: every user of this machine can search the indexed documents.'),
    );
    await expectSeed004(askOver(url, {}));
    for (const era of ['legacy', 'auto'] as const) await expectMcp(await connect(url, era));
    expect((await askOver(url, { origin: 'https://elsewhere.example' })('GET', '/tools/list')).status).toBe(403);
    expect((await askOver(url, {})('GET', '/api/agents')).status).toBe(404);
    await using second = await serve('--bind', new URL(url).host);
    expect(second.url).toBeNull();
    expect(second.said()).toContain('another `ctx serve mcp` uses it');
  });

  test('requires the token given with --token', async () => {
    await using served = await serve('--token', 'sesame');
    const url = served.url as string;
    expect((await askOver(url, {})('GET', '/tools/list')).status).toBe(401);
    expect((await askOver(url, { authorization: 'Bearer sesame' })('GET', '/tools/list')).status).toBe(200);
    expect((await askOver(url, {})('GET', '/health')).json).toEqual({
      status: 'ok',
      name: 'ctx',
      version: expect.stringMatching(/^\d+\.\d+/),
    });
  });

  test('takes the token from a file or the environment, hidden from other users', async () => {
    const file = join(directory, 'token');
    writeFileSync(file, 'from-file\n', { mode: 0o600 });
    const wants = async (served: { url: string | null; said(): string }, token: string) => {
      const url = served.url as string;
      expect((await askOver(url, {})('GET', '/tools/list')).status).toBe(401);
      expect((await askOver(url, { authorization: `Bearer ${token}` })('GET', '/tools/list')).status).toBe(200);
      expect(served.said()).toBe('');
    };
    await using one = await serve('--token-file', file);
    await wants(one, 'from-file');
    await using other = await serveWith({ CTX_TOKEN: 'from-env' });
    await wants(other, 'from-env');
    chmodSync(file, 0o644);
    await using open = await serve('--token-file', file);
    expect(open.said()).toContain(`other users of this machine can read ${file}; run \`chmod 600\``);
    for (const [flags, said] of [
      [['--token-file', join(directory, 'absent')], 'absent: it does not exist.'],
      [['--token-file', join(ROOT, 'README.md')], 'it has more than 4096 bytes'],
      [['--token-file', file, '--token', 'x'], 'not both'],
      [['--token', ''], '--token must not be empty'],
    ] as const) {
      await using refused = await serve(...flags);
      expect(refused.url).toBeNull();
      await until('it has said why', () => refused.said().includes(said));
    }
    await using empty = await serveWith({ CTX_TOKEN: ' ' });
    expect(empty.url).toBeNull();
  });

  test("the conformance suite's applicable scenarios pass, in both eras", async () => {
    await using served = await serve();
    for (const revision of ['2025-11-25', '2026-07-28']) {
      const expected = ['--expected-failures', join(ROOT, `test/fixtures/mcp-conformance-${revision}.yml`)];
      const args = ['server', '--url', `${served.url}/mcp`, '--requirements', revision, ...expected];
      const { stdout } = await run(join(BIN, 'conformance'), args, { env: ENV, cwd: directory, maxBuffer: 1e8 });
      expect(stdout).toContain('✓ tools-list');
      expect(stdout).toContain('✓ dns-rebinding-protection');
    }
  });

  test("the MCP inspector's command line lists and calls the tools", async () => {
    await using served = await serve();
    const inspect = async (...args: string[]) => {
      const all = ['--cli', `${served.url}/mcp`, '--transport', 'http', '--method', ...args];
      return JSON.parse((await run(join(BIN, 'mcp-inspector'), all, { env: ENV, cwd: directory })).stdout);
    };
    const { tools } = await inspect('tools/list');
    expect(tools.map(({ name }: { name: string }) => name)).toEqual(['search', 'get', 'sources']);
    const found = await inspect('tools/call', '--tool-name', 'search', '--tool-arg', 'query=deploy');
    expect(found.structuredContent.results[0].title).toBe('Deploying');
  });
});
