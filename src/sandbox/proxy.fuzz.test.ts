import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/** What the host sends for the current request, and whether it then resets the connection. */
let hostile: { readonly bytes: Buffer; readonly reset: boolean } | null = null;
const host = createServer((socket) => {
  socket.on('error', () => {});
  socket.once('data', () => {
    const { bytes, reset } = hostile ?? { bytes: good, reset: false };
    socket.write(bytes, () => (reset ? socket.resetAndDestroy() : socket.end()));
  });
});
const good = Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nserved');
const PROXY = join(import.meta.dirname, 'proxy.ts');
const SILENCE_MS = 30;
let port: number;
let door: number;
let proxy: ChildProcess | null = null;

beforeAll(async () => {
  await once(host.listen(0, '127.0.0.1'), 'listening');
  port = (host.address() as AddressInfo).port;
});
afterAll(async () => {
  host.close();
  await stop();
});

/** A separate process, like the daemon: an uncaught exception ends it. */
async function start(): Promise<void> {
  if (proxy && proxy.exitCode === null && proxy.signalCode === null) return;
  const endpoints = [{ variable: 'BASE', url: `http://127.0.0.1:${port}/v1`, headers: { authorization: 'KEY' } }];
  const options = JSON.stringify({ hosts: [`127.0.0.1:${port}`], endpoints });
  const script = `
    import { createServer } from 'node:net';
    import { createProxy } from ${JSON.stringify(PROXY)};
    const proxy = createProxy(${options});
    const listening = createServer().listen(0, '127.0.0.1', () => {
      console.log(listening.address().port);
      proxy.serve(listening);
    });`;
  const args = ['--input-type=module', '-e', script];
  proxy = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore'] });
  const [said] = await once(proxy.stdout as NodeJS.ReadableStream, 'data');
  door = Number(said);
}

/** Everything the proxy sends in response to these bytes, until the connection ends. */
function send(bytes: Buffer | string, patience = 10_000): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ port: door, host: '127.0.0.1', allowHalfOpen: true });
    let answer = '';
    socket.setEncoding('latin1').on('data', (chunk) => {
      answer += chunk;
    });
    socket.on('error', () => {}).on('close', () => resolve(answer));
    socket.on('end', () => socket.destroy());
    // The proxy correctly waits for the rest of an incomplete request.
    socket.setTimeout(patience, () => socket.destroy());
    socket.write(bytes);
  });
}

/** Checks that the proxy is alive and serves the next request. */
async function stillServes(): Promise<void> {
  hostile = null;
  const answer = await send(`GET http://127.0.0.1:${port}/ HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`);
  if (!answer.endsWith('served')) await stop();
  expect(answer).toMatch(/^HTTP\/1.1 200 .*served$/s);
}

async function stop(): Promise<void> {
  if (!proxy || proxy.exitCode !== null || proxy.signalCode !== null) return;
  proxy.kill('SIGKILL');
  await once(proxy, 'exit');
}

const noise = fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes));
const pick = (...texts: string[]) => fc.constantFrom(...texts).map((text) => Buffer.from(text, 'latin1'));
const lines = (part: fc.Arbitrary<Buffer>) => fc.array(part, { maxLength: 5 }).map((parts) => Buffer.concat(parts));
/** Mostly valid input, because what the parser refuses never reaches the handlers. */
const sometimes = (part: fc.Arbitrary<Buffer>) =>
  fc.oneof({ weight: 15, arbitrary: part }, { weight: 1, arbitrary: noise });
const concat = (...parts: fc.Arbitrary<Buffer>[]) => fc.tuple(...parts.map(sometimes)).map((all) => Buffer.concat(all));

const header = pick(
  'content-length: 0\r\n',
  'content-length: 5\r\n',
  'content-length: 99999999999999999999\r\n',
  'transfer-encoding: chunked\r\n',
  'transfer-encoding: gzip, chunked\r\n',
  'connection: close\r\n',
  'connection: upgrade, content-length\r\nupgrade: websocket\r\n',
  'connection: keep-alive, host\r\n',
  'expect: 100-continue\r\n',
  'expect: something\r\n',
  'set-cookie: a\r\nset-cookie: b\r\n',
  'x: \x80\xff\t\r\n',
  `x: ${'y'.repeat(3000)}\r\n`,
  'location: http://[::1]/\r\n',
  ': empty\r\n',
  'x : y\r\n',
);
const body = pick(
  '',
  'hello',
  '5\r\nhello\r\n0\r\n\r\n',
  '0\r\nx: y\r\n\r\n',
  'ffffffffffffffff\r\n',
  'GET / HTTP/1.1\r\n\r\n',
);

describe('the proxy', () => {
  test('survives any bytes from a program and serves the next one', { timeout: 120_000 }, async () => {
    const method = pick(
      'GET',
      'POST',
      'HEAD',
      'DELETE',
      'OPTIONS',
      'TRACE',
      'CONNECT',
      'CONNECT',
      'PUT',
      'PRI',
      'QUERY',
      'get',
    );
    const target = pick(
      ` http://127.0.0.1:${port}/`,
      ` http://127.0.0.1:${port}/a?b#c%zz`,
      ` 127.0.0.1:${port}`,
      ' /0/x',
      ' /0/../v1evil',
      ' /9',
      ' *',
      ' http://[::1%lo]:80/',
      ' [fe80::1%lo]:80',
      ' 127.0.0.1:99999',
      ' http://user:pass@127.0.0.1/',
      ' http://127.0.0.1:0/',
    );
    const version = pick(' HTTP/1.1\r\n', ' HTTP/1.0\r\n', ' HTTP/0.9\r\n', ' HTTP/2.0\r\n');
    const request = concat(method, target, version, pick('host: x\r\n'), lines(header), pick('\r\n'), body);
    await fc.assert(
      fc.asyncProperty(fc.array(request, { minLength: 1, maxLength: 3 }), async (requests) => {
        await start();
        await send(Buffer.concat(requests), SILENCE_MS);
        await stillServes();
      }),
      { numRuns: 300 },
    );
  });

  test('survives any response of a host and serves the next one', { timeout: 120_000 }, async () => {
    const status = fc.oneof(pick('000', '099', '100', '101', '199', '200', '204', '304', '600', '999'), noise);
    const version = pick('HTTP/1.1 ', 'HTTP/1.0 ', 'HTTP/0.9 ', 'HTTP/1.1\t');
    const response = concat(
      version,
      status,
      pick(' OK\r\n', '\r\n', ' \x80\xff\r\n'),
      lines(header),
      pick('\r\n'),
      body,
    );
    const answer = fc.array(response, { minLength: 1, maxLength: 2 }).map((parts) => Buffer.concat(parts));
    const method = fc.constantFrom('GET', 'HEAD', 'POST', 'OPTIONS');
    const target = fc.constantFrom(`http://127.0.0.1:${port}/`, '/0/x');
    await fc.assert(
      fc.asyncProperty(answer, fc.boolean(), method, target, async (bytes, reset, verb, url) => {
        await start();
        hostile = { bytes, reset };
        await send(`${verb} ${url} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`);
        await stillServes();
      }),
      { numRuns: 300 },
    );
  });
});
