import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Substrat } from '../../src/ctx/library.ts';
import { openSubstrat } from '../../src/ctx/substrat.ts';
import { ask } from '../helpers/http.ts';

const directory = mkdtempSync(join(tmpdir(), 'substrat-origins-'));
const PAGE = 'https://app.example.com';
let substrat: Substrat;
let open: { url: string; close(): Promise<void> };
let closed: typeof open;

beforeAll(async () => {
  const config = join(directory, 'ctx.toml');
  writeFileSync(config, `[db]\npath = ":memory:"\n[server]\norigins = ["${PAGE}"]\n`);
  writeFileSync(join(directory, 'a.md'), '# Deploying\n\nRun the script.\n');
  substrat = await openSubstrat({
    config,
    home: join(directory, 'home'),
    connectors: [{ name: 'own', scan: () => [{ source_id: 'a', title: 'Deploying', body: 'Run the deploy script.' }] }],
    tools: [
      {
        name: 'shout',
        description: 'Shouts.',
        parameters: [{ name: 'text', type: 'string' }],
        execute: ({ text }) => `${String(text)}!`,
      },
    ],
  });
  await substrat.sync();
  const bind = { host: '127.0.0.1', port: 0 };
  open = await substrat.serve({ bind });
  closed = await substrat.serve({ bind, token: 'sesame' });
});

afterAll(async () => {
  await open.close();
  await closed.close();
  await substrat.close();
  rmSync(directory, { recursive: true });
});

test('pages of [server] origins may read answers and errors, other pages may not send a request', async () => {
  for (const [path, status] of [
    ['/tools/list', 200],
    ['/nothing', 404],
    ['/mcp', 405],
  ] as const) {
    const answer = await ask(open, path, { headers: { origin: PAGE } });
    expect([path, answer.status, answer.headers['access-control-allow-origin']]).toEqual([path, status, PAGE]);
    expect(answer.headers.vary).toContain('Origin');
  }
  for (const origin of ['https://elsewhere.example', `${PAGE}.evil.example`, 'null', 'http://app.example.com']) {
    const answer = await ask(open, '/tools/list', { headers: { origin } });
    expect([origin, answer.status, answer.headers['access-control-allow-origin']]).toEqual([origin, 403, undefined]);
  }
});

test('a preflight needs an allowed origin and our own Host, but no token', async () => {
  const asked = {
    origin: PAGE,
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'authorization,content-type',
  };
  const options = (headers: Record<string, string>) => ask(closed, '/tools/search', { method: 'OPTIONS', headers });
  expect(await options(asked)).toMatchObject({
    status: 204,
    headers: {
      'access-control-allow-origin': PAGE,
      'access-control-allow-headers': 'authorization,content-type',
      'access-control-allow-methods': expect.stringContaining('POST'),
    },
  });
  expect((await options({ ...asked, origin: 'https://elsewhere.example' })).status).toBe(403);
  expect((await options({ ...asked, host: 'rebound.example' })).status).toBe(403);
  expect((await options({})).status).toBe(401);
});

test('a missing token is answered with WWW-Authenticate', async () => {
  const refused = await ask(closed, '/tools/list', { headers: { origin: PAGE } });
  expect(refused).toMatchObject({ status: 401, headers: { 'www-authenticate': 'Bearer realm="substrat"' } });
  expect(refused.headers['access-control-allow-origin']).toBe(PAGE);
});

test('a wrong method is answered with 405 and the methods that the path takes', async () => {
  for (const [method, path, status, allow] of [
    ['PUT', '/tools/list', 405, 'HEAD, GET, POST'],
    ['GET', '/tools/search', 405, 'POST'],
    ['DELETE', '/health', 405, 'HEAD, GET'],
    ['DELETE', '/nothing', 404, undefined],
    ['GET', '/', 404, undefined],
  ] as const) {
    const answer = await ask(open, path, { method });
    expect([method, path, answer.status, answer.headers.allow]).toEqual([method, path, status, allow]);
    expect(answer.json.error.code).toBe(status === 405 ? 'method_not_allowed' : 'not_found');
  }
});

test('tools describe their results, and clients know which only read', async () => {
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${open.url}/mcp`)));
  const { tools } = await client.listTools();
  const reads = { readOnlyHint: true, destructiveHint: false, openWorldHint: false };
  expect(tools.map(({ name, annotations }) => [name, annotations])).toEqual([
    ['search', reads],
    ['get', reads],
    ['sources', reads],
    ['shout', undefined],
  ]);
  expect(tools.map(({ outputSchema }) => outputSchema?.required)).toEqual([
    ['results'],
    expect.arrayContaining(['id', 'body', 'chunks']),
    ['sources'],
    ['result'],
  ]);
  // The client checks each result against the schema of its tool.
  const found = await client.callTool({ name: 'search', arguments: { query: 'deploy', explain: true } });
  const { results } = found.structuredContent as { results: { id: string; explain: { matched: string[] } }[] };
  expect(results[0]?.explain.matched).toEqual(['deploy']);
  await client.callTool({ name: 'get', arguments: { id: results[0]?.id } });
  await client.callTool({ name: 'sources', arguments: {} });
  expect(await client.callTool({ name: 'shout', arguments: { text: 'hi' } })).toMatchObject({
    structuredContent: { result: 'hi!' },
  });
  await client.close();
});
