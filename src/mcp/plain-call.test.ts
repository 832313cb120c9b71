import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ProtocolError, Server } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { connectSocket } from '../../test/helpers/mcp.ts';
import { until } from '../../test/helpers/until.ts';
import { type CallTool, SocketTransport } from './transport.ts';

const envelope = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};
const clientInfo = { name: 'test', version: '1' };
const initialize = (protocolVersion: string) => ({
  jsonrpc: '2.0',
  id: 'opening',
  method: 'initialize',
  params: { protocolVersion, capabilities: {}, clientInfo },
});
const plainCall = (id: unknown, name: string, args?: unknown) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, ...(args !== undefined && { arguments: args }) },
});

/** The ways in which a connection can begin, including none. */
const openings = {
  'the newest protocol of 2025': [initialize('2025-11-25')],
  'an old protocol': [initialize('2024-11-05'), { jsonrpc: '2.0', method: 'notifications/initialized' }],
  'the protocol of 2026': [{ jsonrpc: '2.0', id: 'opening', method: 'server/discover', params: { _meta: envelope } }],
  'an initialize that is wrong': [{ jsonrpc: '2.0', id: 'opening', method: 'initialize', params: {} }],
  nothing: [],
};

describe('a plain call', () => {
  test.each(Object.entries(openings))(
    'after %s gets the same bytes with and without the shortcut',
    async (_, opening) => {
      const part = fc.oneof(
        fc.constantFrom(undefined, null, 0, -1, 1.5, 2 ** 60, true, '', 'echo', [], {}, { a: 1 }, { progressToken: 7 }),
        fc.constantFrom(envelope, { ...envelope, progressToken: 'x' }, { progressToken: 1.5 }, { progressToken: {} }),
        fc.jsonValue(),
      );
      const usual = fc.constantFrom('echo', 'echo', 'fail', 'throw', 'unknown', 'ECHO', '__proto__');
      const args = fc.oneof(
        fc.constantFrom(undefined, {}, JSON.parse('{"__proto__":{"a":1},"b":2}')),
        fc.object(),
        part,
      );
      const message = fc.oneof(
        { weight: 4, arbitrary: fc.tuple(fc.oneof(fc.string(), fc.nat()), usual, args).map((p) => plainCall(...p)) },
        fc.record(
          {
            jsonrpc: fc.constantFrom('2.0', '1.0', undefined),
            id: fc.oneof(fc.nat(), part),
            method: fc.constantFrom('tools/call', 'tools/list', 'ping', 'notifications/cancelled', 'nothing'),
            params: fc.oneof(
              fc.record(
                { name: fc.oneof(usual, part), arguments: args, _meta: part, task: part },
                { requiredKeys: [] },
              ),
              fc.record({ requestId: part, reason: part }, { requiredKeys: [] }),
              part,
            ),
            extra: part,
          },
          { requiredKeys: ['method'] },
        ),
      );
      await fc.assert(
        fc.asyncProperty(fc.array(message, { maxLength: 12 }), async (messages) => {
          const lines = [...opening, ...messages].map((one) => JSON.stringify(one));
          const [short, long] = [await exchange(lines, true), await exchange(lines, false)];
          expect(short).toEqual(long);
        }),
        { numRuns: 60 },
      );
    },
  );

  test('takes the shortcut only in the 2025 protocol', async () => {
    const line = JSON.stringify(plainCall(1, 'echo', { a: 1 }));
    const parsed = async (opening: keyof typeof openings) => {
      const { short } = await exchange([...openings[opening].map((one) => JSON.stringify(one)), line], true, true);
      return short;
    };
    expect(await parsed('the newest protocol of 2025')).toBe(1);
    expect(await parsed('an old protocol')).toBe(1);
    expect(await parsed('the protocol of 2026')).toBe(0);
    expect(await parsed('nothing')).toBe(0);
  });

  test.each([true, false])('that is cancelled gets no response, shortcut: %s', async (shortcut) => {
    const released: (() => void)[] = [];
    const { client } = await connect(shortcut, () => new Promise((resolve) => released.push(() => resolve(echo({})))));
    const send = (message: object) => client.send(`${JSON.stringify(message)}\n`);
    await send(initialize('2025-11-25'));
    await client.line();
    // If two requests share an id, the later one is cancelled.
    for (const id of [1, 1, 2]) await send(plainCall(id, 'echo'));
    await until('all are under way', () => released.length === 3);
    await send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1, reason: 7 } });
    await send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } });
    await send({ jsonrpc: '2.0', id: 3, method: 'ping' });
    expect(await client.json()).toMatchObject({ id: 3 });
    for (const release of released.reverse()) release();
    expect([await client.json(), await client.json()]).toMatchObject([{ id: 2 }, { id: 1 }]);
    // All responses are sent, so the connection ends when the client has ended its side.
    client.socket.end();
    expect(await client.line()).toBeNull();
  });

  test.each([true, false])('that is cancelled counts until it ends, shortcut: %s', async (shortcut) => {
    const released: (() => void)[] = [];
    const { client } = await connect(shortcut, () => new Promise((resolve) => released.push(() => resolve(echo({})))));
    await client.send(`${JSON.stringify(initialize('2025-11-25'))}\n`);
    await client.line();
    const cancel = (requestId: number) => ({
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId },
    });
    const pairs = Array.from({ length: 500 }, (_, id) => [plainCall(id, 'echo'), cancel(id)]).flat();
    void client.send(pairs.map((message) => `${JSON.stringify(message)}\n`).join(''));
    await until('64 are under way', () => released.length >= 64);
    await client.send(`${JSON.stringify({ jsonrpc: '2.0', id: 'last', method: 'ping' })}\n`);
    // Gives the transport enough event loop turns to read anything it would read.
    for (let n = 0; n < 100; n += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(released).toHaveLength(64);
    for (let n = 0; n < 500; n += 1) {
      await until('the next one', () => released.length > n);
      released[n]?.();
    }
    // A call that ended before its cancellation was read has been answered.
    let answer = await client.json();
    while (answer !== null && answer.id !== 'last') answer = await client.json();
    expect(answer).toMatchObject({ id: 'last' });
  });

  test('does not overtake a call that the library is handling', async () => {
    const order: unknown[] = [];
    const { client } = await connect(true, async (_, args) => {
      order.push(args);
      return echo(args);
    });
    await client.send(`${JSON.stringify(initialize('2025-11-25'))}\n`);
    await client.line();
    const elaborate = {
      ...plainCall(1, 'echo', { n: 1 }),
      params: { name: 'echo', arguments: { n: 1 }, _meta: { a: 1 } },
    };
    const calls = [elaborate, plainCall(2, 'echo', { n: 2 }), plainCall(3, 'echo', { n: 3 })];
    await client.send(calls.map((call) => `${JSON.stringify(call)}\n`).join(''));
    for (const _ of calls) await client.line();
    expect(order).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
  });
});

/** Sends the lines in order; returns all responses and all calls. */
async function exchange(lines: readonly string[], shortcut: boolean, counted = false) {
  const called: unknown[] = [];
  const { client, short, close } = await connect(shortcut, async (name, args) => {
    // An unknown tool is looked up twice: here, and by the library.
    if (!['echo', 'fail', 'throw'].includes(name)) return null;
    called.push([name, JSON.stringify(args)]);
    if (name === 'throw') throw new Error('Thrown.');
    if (name === 'fail') return { ...echo({ error: 'no' }), isError: true };
    return echo(args);
  });
  const answers: string[] = [];
  try {
    for (const line of lines) {
      await client.send(`${line}\n`);
      for (const barrier of ['"barrier 1"', '"barrier 2"']) {
        await client.send(`{"jsonrpc":"2.0","id":${barrier},"method":"ping"}\n`);
        for (let answer = await client.line(); answer !== null; answer = await client.line()) {
          if (answer.includes(barrier)) break;
          answers.push(answer);
        }
      }
    }
  } finally {
    await close();
  }
  return { answers, called, ...(counted && { short: short() }) };
}

async function connect(shortcut: boolean, callTool: CallTool) {
  const directory = mkdtempSync(join(tmpdir(), 'plain-'));
  const listener = createServer({ allowHalfOpen: true });
  await once(listener.listen(join(directory, 'agent.sock')), 'listening');
  const accepted = once(listener, 'connection');
  const client = await connectSocket(join(directory, 'agent.sock'));
  const [socket] = await accepted;
  socket.on('error', () => {});
  let short = 0;
  const counting: CallTool = (name, args) => {
    short += 1;
    return callTool(name, args);
  };
  const transport = new SocketTransport(socket, shortcut ? counting : null);
  serveStdio(() => createServerOf(transport.counted(callTool)), { transport });
  let closed = false;
  const close = async () => {
    if (closed) return;
    closed = true;
    client.close();
    socket.destroy();
    await new Promise((resolve) => listener.close(resolve));
    rmSync(directory, { recursive: true });
  };
  onTestFinished(close);
  return { client, close, short: () => short };
}

function createServerOf(callTool: CallTool): Server {
  const server = new Server({ name: 'test', version: '1' }, { capabilities: { tools: {} } });
  server.setRequestHandler('tools/list', () => ({ tools: [] }));
  server.setRequestHandler('tools/call', async ({ params }) => {
    const result = await callTool(params.name, params.arguments);
    if (!result) throw new ProtocolError(-32602, `There is no tool "${params.name}".`);
    return { ...result };
  });
  return server;
}

function echo(args: unknown) {
  return { content: [{ type: 'text' as const, text: JSON.stringify(args ?? null) }], structuredContent: { args } };
}
