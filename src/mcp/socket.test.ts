import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { startDaemon, storeRows, type TestDaemon } from '../../test/helpers/daemon.ts';
import { connectAgent, connectRaw, helloOf, type RawConnection } from '../../test/helpers/mcp.ts';
import { until } from '../../test/helpers/until.ts';
import type { Agent } from '../core/agent.ts';
import type { ActiveAttempt } from '../runs/attempt.ts';

import type { ToolDependencies } from '../tools/call.ts';
import { listenForAgent } from './socket.ts';

let daemon: TestDaemon;
let lead: { home: string; agentId: string };

beforeAll(async () => {
  daemon = await startDaemon({ members: { lead: {}, worker: { parent: 'lead' } } });
  lead = { home: daemon.home, agentId: daemon.agent('lead').id };
});

afterAll(() => daemon.stop());
afterEach(async () => {
  vi.useRealTimers();
  await until('everybody has left', async () => (await stateOf('lead')) === 'idle');
});

const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
const initialize = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
};
const line = (message: unknown) => `${JSON.stringify(message)}\n`;
const runsOf = async (agentId: string) =>
  (await storeRows(daemon.home)).runs?.filter((run) => (run as { agent_id: string }).agent_id === agentId);
const stateOf = async (name: string) => (await daemon.client.getAgent(name)).state;

async function refusal(bytes: string | Uint8Array): Promise<string> {
  const connection = await connectRaw({ ...lead, hello: false });
  await connection.send(bytes);
  const said = (await connection.json()) as { substrat: { error: string } };
  expect(await connection.line()).toBe(null);
  return said.substrat.error;
}

/** On the lead's socket. */
function startBridge(agentId: string) {
  const program = join(import.meta.dirname, '../../bin/substrat-mcp-server');
  const env = { PATH: process.env.PATH ?? '', SUBSTRAT_SOCKET: join(lead.home, 'agents', lead.agentId, 'agent.sock') };
  return spawn(program, ['--agent-id', agentId], { env, stdio: 'pipe' });
}

/** Whether other clients can still join the agent. */
async function isServed(): Promise<boolean> {
  await using agent = await connectAgent(lead);
  return (await agent.client.listTools()).tools.length > 0;
}

describe("an agent's socket", () => {
  test.each([
    ['another agent that exists', () => helloOf(daemon.agent('worker').id), /belongs to another agent/],
    ['an agent that does not exist', () => helloOf(randomUUID()), /belongs to another agent/],
    ['the id in other letters', () => helloOf(lead.agentId.toUpperCase()), /belongs to another agent/],
    ['a list as id', () => `{"substrat":{"agentId":["${lead.agentId}"]}}\n`, /belongs to another agent/],
    ['no id', () => '{"substrat":{}}\n', /belongs to another agent/],
    ['null', () => 'null\n', /first line must be/],
    ['nothing', () => '\n', /first line must be/],
    ['no object in it', () => '{"substrat":null}\n', /first line must be/],
    ['a request', () => line(initialize), /first line must be/],
    ['no JSON', () => '}{\0\n', /first line must be/],
    ['bytes that are not text', () => Uint8Array.of(0xff, 0xfe, 0x0a), /first line must be/],
    ['a long line', () => `${' '.repeat(2000)}${helloOf(lead.agentId)}`, /first line must be/],
    ['a line without end', () => 'x'.repeat(2000), /first line must be/],
  ])('refuses a first line with %s', async (_, hello, sentence) => {
    const before = await storeRows(daemon.home);
    expect(await refusal(hello())).toMatch(sentence);
    expect(await storeRows(daemon.home)).toEqual(before);
    expect(await isServed()).toBe(true);
  });

  test('tells a client that it cannot be served, and continues', async () => {
    const path = join(daemon.home, 'broken.sock');
    let left = 0;
    const socket = await listenForAgent({
      path,
      version: '1',
      agent: { id: 'agent' } as Agent,
      tools: {
        store: daemon.daemon.store,
        settings: { onCustomToolsChange: () => () => {} },
      } as unknown as ToolDependencies,
      join: async () => ({ external: true }) as ActiveAttempt,
      leave: async () => {
        left += 1;
      },
      instructions: () => Promise.reject(new Error('the store is gone')),
    });
    for (const clients of [1, 2]) {
      const client = connect(path);
      client.write(helloOf('agent'));
      expect(await text(client)).toMatch(/could not serve this connection: the store is gone/);
      client.destroy();
      await until('the client has left', () => left === clients);
    }
    await socket.close();
  });

  test('notices a client that leaves before it is served', async () => {
    const path = join(daemon.directory, 'left.sock');
    const [joined, gate, left] = [0, 0, 0].map(() => Promise.withResolvers<void>());
    const socket = await listenForAgent({
      path,
      version: '1',
      agent: { id: 'agent' } as Agent,
      tools: {
        store: daemon.daemon.store,
        settings: { onCustomToolsChange: () => () => {} },
      } as unknown as ToolDependencies,
      join: async () => ({ external: true }) as ActiveAttempt,
      leave: async () => left?.resolve(),
      instructions: async () => {
        joined?.resolve();
        await gate?.promise;
        return '';
      },
    });
    const client = connect(path);
    client.write(helloOf('agent'));
    await joined?.promise;
    client.destroy();
    // Lets the end of the connection arrive before anybody reads from it.
    for (let i = 0; i < 200; i += 1) await new Promise((resolve) => setImmediate(resolve));
    gate?.resolve();
    await left?.promise;
    await socket.close();
  });

  test('serves data that arrived together with the first line', async () => {
    const connection = await connectRaw({ ...lead, hello: false });
    await connection.send(helloOf(lead.agentId) + line(initialize) + line(list));
    expect(await connection.json()).toMatchObject({ id: 0, result: { serverInfo: { name: 'substrat' } } });
    expect(await connection.json()).toMatchObject({ id: 1, result: { tools: expect.any(Array) } });
    connection.close();
  });

  test('waits for a slow first line', async () => {
    const connection = await connectRaw({ ...lead, hello: false });
    for (const byte of Buffer.from(helloOf(lead.agentId))) await connection.send(Uint8Array.of(byte));
    await connection.send(line(initialize));
    expect(await connection.json()).toMatchObject({ id: 0 });
    connection.close();
  });

  test('times out waiting for a first line', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const connection = await connectRaw({ ...lead, hello: false });
    await connection.send('{"substrat":');
    while (vi.getTimerCount() === 0) await nextTurn();
    vi.advanceTimersByTime(10_000);
    expect(await connection.json()).toEqual({ substrat: { error: expect.stringMatching(/first line must be/) } });
    await connection.closed;
  });

  test('treats a second hello as an invalid MCP message', async () => {
    const connection = await connectRaw(lead);
    await connection.send(helloOf(daemon.agent('worker').id));
    expect(await connection.json()).toMatchObject({ error: { code: -32600 } });
    connection.close();
  });

  test('creates no run for a connection that leaves before its first line', async () => {
    const before = await runsOf(lead.agentId);
    const ended = await connectRaw({ ...lead, hello: false });
    ended.socket.end();
    await ended.closed;
    (await connectRaw({ ...lead, hello: false })).close();
    await expect(refusal('x\n')).resolves.toBeTruthy();
    expect(await runsOf(lead.agentId)).toEqual(before);
  });

  test('responds to a client that has ended its side', async () => {
    const connection = await connectRaw(lead);
    connection.socket.end(line(initialize) + line(list));
    expect(await connection.json()).toMatchObject({ id: 0 });
    expect(await connection.json()).toMatchObject({ id: 1 });
    expect(await connection.line()).toBe(null);
  });

  test('is one run for all joined clients, and ends it with the last', async () => {
    const before = (await runsOf(lead.agentId))?.length ?? 0;
    const first = await connectAgent(lead);
    const second = await connectAgent(lead);
    expect(await runsOf(lead.agentId)).toHaveLength(before + 1);
    await first.close();
    expect((await second.call('list_agents')).isError).toBe(false);
    expect(await stateOf('lead')).toBe('busy');
    await second.close();
    await until('the run ended', async () => (await stateOf('lead')) === 'idle');
    expect((await runsOf(lead.agentId))?.at(-1)).toMatchObject({ state: 'completed' });
  });

  test('accepts sixteen connections, refuses the next one with a reason, and has room again when one leaves', async () => {
    const held: RawConnection[] = [];
    for (let i = 0; i < 16; i++) held.push(await connectRaw({ ...lead, hello: i % 2 === 0 }));
    for (let i = 0; i < 20; i++) expect(await refusal('')).toMatch(/16 connections already/);
    held.pop()?.close();
    await until('there is room', () => isServed().catch(() => false));
    for (const connection of held) connection.close();
  });

  test('does not count refused connections, however long they stay', async () => {
    const refused = await Promise.all(
      Array.from({ length: 40 }, async () => {
        const connection = await connectRaw({ ...lead, hello: false });
        connection.socket.pause().write('no\n');
        return connection;
      }),
    );
    await until('there is room', () => isServed().catch(() => false));
    for (const connection of refused) connection.close();
  });

  test('responds to a bridge whose client sends everything and ends', async () => {
    const bridge = startBridge(lead.agentId);
    bridge.stdin.end(line(initialize) + line(list));
    const answers = (await text(bridge.stdout)).trim().split('\n');
    expect(answers.map((answer) => JSON.parse(answer).id)).toEqual([0, 1]);
  });

  test("tells a bridge with another agent's id why it is refused", async () => {
    const bridge = startBridge(daemon.agent('worker').id);
    bridge.stdin.on('error', () => {}).write(line(initialize));
    const [[code], stderr] = await Promise.all([once(bridge, 'exit'), text(bridge.stderr)]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^substrat-mcp-server: This socket belongs to another agent; .*\n$/);
  });

  test('survives a client that leaves in the middle of a response', async () => {
    for (let i = 0; i < 20; i++) {
      const connection = await connectRaw(lead);
      await connection.send(line(initialize) + line({ ...list, id: i }));
      if (i % 2) await connection.line();
      connection.close();
    }
    expect(await isServed()).toBe(true);
  });
});
