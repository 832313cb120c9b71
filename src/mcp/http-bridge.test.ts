import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, createServer as createSocketServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { startDaemon, storeRows, type TestDaemon } from '../../test/helpers/daemon.ts';
import { until } from '../../test/helpers/until.ts';
import { createHttpBridge } from './http-bridge.ts';

let daemon: TestDaemon;
let server: Server;
let url: string;

beforeAll(async () => {
  daemon = await startDaemon({ members: { lead: {}, worker: { parent: 'lead' } } });
  [server, url] = await serve(daemon.agent('lead').id);
});

afterAll(async () => {
  server.close();
  server.closeAllConnections();
  await daemon.stop();
});

const socketOf = (name: string) => join(daemon.home, 'agents', daemon.agent(name).id, 'agent.sock');

/** The lead's socket over HTTP, as its agent or as another one. */
async function serve(agentId: string, path = socketOf('lead')): Promise<[Server, string]> {
  const opened = createServer(createHttpBridge({ path, agentId, runId: 'a run' })).listen(0, '127.0.0.1');
  await once(opened, 'listening');
  return [opened, `http://127.0.0.1:${(opened.address() as AddressInfo).port}/mcp`];
}

async function connect(mode: 'legacy' | 'auto', onChanged: () => void = () => {}) {
  const listChanged = { tools: { autoRefresh: false, debounceMs: 0, onChanged } };
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode }, listChanged });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  onTestFinished(() => client.close());
  return client;
}

const initialize = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
};

function post(body: unknown, session?: string, to = url): Promise<Response> {
  const headers = { 'content-type': 'application/json', ...(session && { 'mcp-session-id': session }) };
  return fetch(to, { method: 'POST', headers, body: typeof body === 'string' ? body : JSON.stringify(body) });
}

async function begin(): Promise<string> {
  return (await post(initialize)).headers.get('mcp-session-id') ?? '';
}

describe("an agent's tools over HTTP", () => {
  test.each(['legacy', 'auto'] as const)('can be listed and called by a client of the protocol (%s)', async (mode) => {
    const client = await connect(mode);
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('send_message');
    const text = `to the worker, ${mode}\u2028in two lines\nand three`;
    const call = { name: 'send_message', arguments: { recipient: 'worker', text, sync: false } };
    expect((await client.callTool(call)).isError).not.toBe(true);
    const { messages = [] } = await storeRows(daemon.home);
    expect(JSON.stringify(messages)).toContain(JSON.stringify(text).slice(1, -1));
  });

  test('says unasked that they have changed', async () => {
    const { promise: announced, resolve } = Promise.withResolvers<void>();
    const client = await connect('legacy', resolve);
    await client.listTools();
    const { id } = daemon.agent('lead');
    const set = (tools: string[] | null) =>
      daemon.daemon.store.write(async (tx) => {
        await tx.agents.setScope({ id, tools });
        await tx.events.appendEvent({ type: 'agent_resumed', at: 0, agentId: id, data: { agentId: id } });
      });
    await set(['list_agents']);
    await announced;
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['list_agents']);
    await set(null);
  });

  test('are of one session, until it is deleted', async () => {
    const session = await begin();
    const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    expect((await post({ jsonrpc: '2.0', method: 'notifications/initialized' }, session)).status).toBe(202);
    expect(await (await post(list, session)).json()).toMatchObject({ id: 1, result: { tools: expect.any(Array) } });
    expect((await fetch(url, { method: 'DELETE', headers: { 'mcp-session-id': session } })).status).toBe(204);
    await until('the session is over', async () => (await post(list, session)).status === 404);
    expect((await post(list)).status).toBe(400);
    expect((await fetch(url)).status).toBe(405);
  });

  test.each([
    ['text that is not JSON', '}{', 400],
    ['several messages', [initialize, initialize], 400],
    ['too deep JSON', `{"a":${'['.repeat(200)}${']'.repeat(200)}}`, 400],
    ['too many bytes', `"${'x'.repeat(9 * 1024 * 1024)}"`, 413],
  ])('refuse %s, and nothing else', async (_, body, status) => {
    const session = await begin();
    const answered = await post(body, session).catch(() => null);
    // A client may still be sending when it is refused.
    if (answered) expect(answered.status).toBe(status);
    expect((await post({ jsonrpc: '2.0', id: 1, method: 'ping' }, session)).status).toBe(200);
  });

  test('are refused for the reason that the socket gives', async () => {
    const [other, address] = await serve(daemon.agent('worker').id);
    const refused = await post(initialize, undefined, address);
    expect([refused.status, await refused.text()]).toEqual([503, expect.stringMatching(/belongs to another agent/)]);
    other.close();
  });

  test('give signs of life during a call that takes long', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const path = join(daemon.home, 'slow.sock');
    const slow = createSocketServer().listen(path);
    await once(slow, 'listening');
    const [bridge, address] = await serve('an agent', path);
    const asked = post(initialize, undefined, address);
    const [socket] = (await once(slow, 'connection')) as [Socket];
    vi.advanceTimersByTime(10_000);
    const response = await asked;
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    socket.write(`${JSON.stringify({ jsonrpc: '2.0', id: 0, result: {} })}\n`);
    expect(await response.text()).toBe(': working\n\nevent: message\ndata: {"jsonrpc":"2.0","id":0,"result":{}}\n\n');
    socket.end();
    slow.close();
    bridge.close();
  });

  test('end with the socket', async () => {
    const [other, address] = await serve(daemon.agent('lead').id);
    const session = (await post(initialize, undefined, address)).headers.get('mcp-session-id') ?? '';
    await daemon.client.terminateAgent('lead');
    const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    await until('the session is over', async () => (await post(list, session, address)).status === 404);
    other.close();
  });
});
