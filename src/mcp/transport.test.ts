import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isJSONRPCNotification, isJSONRPCRequest, isJSONRPCResponse } from '@modelcontextprotocol/server';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { watchLiveBytes } from '../../test/helpers/live-bytes.ts';
import { connectSocket, type RawConnection } from '../../test/helpers/mcp.ts';
import { until } from '../../test/helpers/until.ts';
import { SocketTransport } from './transport.ts';

type Message = Record<string, unknown>;

let client: RawConnection;
let transport: SocketTransport;
let received: Message[];
let onReceive: (message: Message) => void;
let socket: Socket;
let close: () => Promise<void>;

beforeEach(async () => {
  const directory = mkdtempSync(join(tmpdir(), 'transport-'));
  const server = createServer({ allowHalfOpen: true });
  const path = join(directory, 'agent.sock');
  await once(server.listen(path), 'listening');
  const accepted = once(server, 'connection');
  client = await connectSocket(path);
  [socket] = await accepted;
  socket.on('error', () => {});
  received = [];
  onReceive = () => {};
  transport = new SocketTransport(socket);
  transport.onmessage = (message) => {
    received.push(message as Message);
    onReceive(message as Message);
  };
  await transport.start();
  close = async () => {
    client.close();
    socket.destroy();
    await new Promise((resolve) => server.close(resolve));
    rmSync(directory, { recursive: true });
  };
});

afterEach(() => close());

const request = (id: number, extra: object = {}) => ({ jsonrpc: '2.0', id, method: 'tools/list', ...extra });
const line = (message: unknown) => `${JSON.stringify(message)}\n`;
const answer = (id: number, text = '') => transport.send({ jsonrpc: '2.0', id, result: { text } });
const seen = (count: number) => until(`${count} messages`, () => received.length >= count);

describe('SocketTransport', () => {
  test('joins messages that arrive in pieces and splits those that arrive together', async () => {
    const bytes = Buffer.from(`${line(request(1, { params: { text: 'é😀' } }))}\r\n  \n${line(request(2))}`);
    for (const byte of bytes) await client.send(Uint8Array.of(byte));
    await client.send([3, 4, 5].map((id) => line(request(id))).join(''));
    await seen(5);
    expect(received.map(({ id }) => id)).toEqual([1, 2, 3, 4, 5]);
    expect(received[0]).toEqual(request(1, { params: { text: 'é😀' } }));
  });

  test.each([
    ['no JSON', 'hello', -32700, null],
    ['half of an object', '{"jsonrpc":"2.0",', -32700, null],
    ['bytes that are not text', '\xff\xfe{', -32700, null],
    ['null', 'null', -32600, null],
    ['a number', '42', -32600, null],
    ['a list of messages', JSON.stringify([request(1)]), -32600, null],
    ['no version', '{"id":7,"method":"ping"}', -32600, 7],
    ['another version', '{"jsonrpc":"1.0","id":"x","method":"ping"}', -32600, 'x'],
    ['a method that is not a text', '{"jsonrpc":"2.0","id":7,"method":5}', -32600, 7],
    ['parameters that are not an object', '{"jsonrpc":"2.0","id":7,"method":"ping","params":[1]}', -32600, 7],
    ['an id that is an object', '{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}', -32600, null],
    ['an id with a fraction', '{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600, null],
    ['a second hello', '{"substrat":{"agentId":"x"}}', -32600, null],
    ['lists in lists', `${'['.repeat(100_000)}${']'.repeat(100_000)}`, -32600, null],
  ])('responds to %s with an error and continues', async (_, bad, code, id) => {
    await client.send(`${bad}\n`);
    expect(await client.json()).toEqual({ jsonrpc: '2.0', id, error: { code, message: expect.any(String) } });
    await client.send(line(request(1)));
    await seen(1);
    expect(received).toEqual([request(1)]);
  });

  const wide = (n: number) => JSON.stringify(Object.fromEntries(Array.from({ length: n }, (_, i) => [`k${i}`, 1])));
  const deep = (n: number) => `${'['.repeat(n)}${']'.repeat(n)}`;

  test.each([
    ['too many keys', `{"jsonrpc":"2.0","id":7,"method":"ping","params":${wide(10_000)}}`, /at most 10000 keys/, 7],
    ['too deep', `{"method":"ping","params":{"a":${deep(63)}},"jsonrpc":"2.0","id":8}`, /nested at most 64 deep/, 8],
    ['too deep', `{"jsonrpc":"2.0","method":"ping","params":{"a":${deep(63)}},"id":"x-1"}`, /nested/, 'x-1'],
    ['too many keys, without an id', `{"method":"ping","params":${wide(10_000)}}`, /at most 10000 keys/, null],
    ['too many keys, with an id inside', `{"params":${wide(10_000)},"a":{"b":1,"id":5}}`, /at most 10000 keys/, null],
  ])('refuses a message that is %s before parsing it, and names the request (%#)', async (_, bad, message, id) => {
    await client.send(`${bad}\n`);
    const error = { code: -32600, message: expect.stringMatching(message) };
    expect(await client.json()).toEqual({ jsonrpc: '2.0', id, error });
    await client.send(line(request(1)));
    await seen(1);
  });

  test('accepts messages just within the limits', async () => {
    const params = { ...JSON.parse(wide(9_000)), deep: JSON.parse(deep(62)) };
    await client.send(line(request(1, { params })));
    await seen(1);
    expect(received[0]).toEqual(request(1, { params }));
  });

  test('yields to others while one client sends many lines at once', async () => {
    let turns = 0;
    let atEnd = -1;
    const turn = () => {
      turns += 1;
      if (atEnd === -1) setImmediate(turn);
    };
    onReceive = ({ id }) => {
      if (id === undefined) return;
      atEnd = turns;
    };
    const notice = line({ jsonrpc: '2.0', method: 'notifications/x' });
    const count = Math.floor(60_000 / notice.length);
    setImmediate(turn);
    await client.send(notice.repeat(count) + line(request(1)));
    await until('all are read', () => atEnd !== -1);
    expect(received).toHaveLength(count + 1);
    expect(atEnd).toBeGreaterThan(count / 16 - 1);
  });

  test('yields to others while requests are answered at once, in microtasks', async () => {
    let turns = 0;
    let counting = true;
    const count = () => {
      turns += 1;
      if (counting) setImmediate(count);
    };
    onReceive = ({ id }) => {
      if (id === 1) count();
      void Promise.resolve().then(() => answer(id as number));
    };
    await client.send(Array.from({ length: 400 }, (_, i) => line(request(i + 1))).join(''));
    await seen(400);
    counting = false;
    expect(turns).toBeGreaterThan(30);
  });

  test('passes on every protocol message and responds to everything else, for any JSON', async () => {
    const part = <T>(valid: fc.Arbitrary<T>) => fc.option(fc.oneof(valid, fc.jsonValue()), { nil: undefined });
    const almost = fc.record({
      jsonrpc: part(fc.constant('2.0')),
      id: part(fc.oneof(fc.integer(), fc.string())),
      method: part(fc.constantFrom('ping', 'tools/call', 'notifications/initialized')),
      params: part(fc.dictionary(fc.string(), fc.jsonValue())),
      result: part(fc.constant({})),
      error: part(fc.constant({ code: 1, message: 'x' })),
    });
    await fc.assert(
      fc.asyncProperty(fc.oneof(almost, fc.jsonValue()), async (value) => {
        received.length = 0;
        const sent = JSON.parse(JSON.stringify(value)) as unknown;
        await client.send(line(sent));
        const known = isJSONRPCRequest(sent) || isJSONRPCNotification(sent) || isJSONRPCResponse(sent);
        if (!known) return void expect(await client.json()).toMatchObject({ jsonrpc: '2.0', error: { code: -32600 } });
        await seen(1);
        expect(received).toEqual([sent]);
        if (isJSONRPCRequest(sent)) await transport.send({ jsonrpc: '2.0', id: sent.id, result: {} });
        if (isJSONRPCRequest(sent)) await client.json();
      }),
      { numRuns: 500 },
    );
  });

  test('refuses a line of 100 MB without buffering it', async () => {
    const peak = watchLiveBytes();
    const chunk = Buffer.alloc(1_000_000, 'x');
    let gone = false;
    void client.closed.then(() => {
      gone = true;
    });
    for (let sent = 0; sent < 100 && !gone; sent++) await client.send(chunk);
    expect(await client.json()).toMatchObject({
      id: null,
      error: { code: -32600, message: expect.stringMatching(/at most 8388608 bytes/) },
    });
    await client.closed;
    expect(peak()).toBeLessThan(30_000_000);
    expect(received).toEqual([]);
  });

  test('accepts a line just under the limit', async () => {
    const text = 'x'.repeat(8 * 1024 * 1024 - 1000);
    await client.send(line(request(1, { params: { text } })));
    await seen(1);
    expect(received[0]).toEqual(request(1, { params: { text } }));
  });

  test('applies backpressure while requests are pending', async () => {
    for (let id = 0; id < 4_000; id++) client.socket.write(line(request(id, { params: { pad: 'x'.repeat(500) } })));
    await until('it stopped to read', () => received.length > 0 && socket.isPaused());
    const before = received.length;
    expect(before).toBeLessThan(1_000);
    onReceive = ({ id }) => void setImmediate(() => answer(id as number));
    for (const { id } of [...received]) await answer(id as number);
    await seen(4_000);
    for (let id = 0; id < 4_000; id++) await client.line();
  });

  test('applies backpressure while responses are not read', async () => {
    client.socket.pause();
    onReceive = ({ id }) => void answer(id as number, 'x'.repeat(10_000));
    for (let id = 0; id < 4_000; id++) client.socket.write(line(request(id)));
    await until('it stopped to read', () => socket.isPaused());
    expect(socket.writableLength).toBeLessThan(20_000_000);
    expect(received.length).toBeLessThan(3_000);
    client.socket.resume();
    for (let id = 0; id < 4_000; id++) expect(JSON.parse((await client.line()) ?? 'null').id).toBe(id);
  });

  test('responds to a client that has ended its side, then closes', async () => {
    client.socket.end(line(request(1)) + line(request(2)) + line(request(3)));
    await seen(3);
    await transport.send({ jsonrpc: '2.0', method: 'notifications/message', params: {} });
    await answer(2);
    expect(socket.writable).toBe(true);
    await answer(1);
    await answer(3);
    const ids = [await client.json(), await client.json(), await client.json(), await client.json()].map(
      (one) => one?.id,
    );
    expect(ids).toEqual([undefined, 2, 1, 3]);
    expect(await client.line()).toBe(null);
  });

  test('does not wait for the response to a cancelled request or to a subscription', async () => {
    const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } };
    client.socket.end(line(request(1)) + line(request(2, { method: 'subscriptions/listen' })) + line(cancelled));
    await client.closed;
    expect(received).toHaveLength(3);
  });

  test('emits close once, whichever side closes', async () => {
    let closed = 0;
    transport.onclose = () => closed++;
    client.close();
    await until('it noticed', () => closed > 0);
    await transport.close();
    await transport.send({ jsonrpc: '2.0', id: 1, result: {} });
    expect(closed).toBe(1);
  });
});
