import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { createServer, type IncomingMessage, request } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Endpoint } from '../core/command.ts';
import { type OpenProxy, openProxy } from './proxy.ts';

let directory: string;
let path: string;
let ends: (() => unknown)[];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'proxy-'));
  path = join(directory, 'p1.sock');
  ends = [() => rmSync(directory, { recursive: true })];
});
afterEach(async () => {
  for (const end of ends.reverse()) await end();
});

describe('CONNECT', () => {
  test('reaches a host that is listed with its port', async () => {
    const port = await listen(createTcpServer((socket) => socket.end('hello from outside')));
    await open({ hosts: [`127.0.0.1:${port}`] });
    expect(await tunnel(`127.0.0.1:${port}`)).toBe('HTTP/1.1 200 Connection established\r\n\r\nhello from outside');
  });

  test('passes on what was sent along with it', async () => {
    const port = await listen(createTcpServer((socket) => socket.pipe(socket)));
    await open({ hosts: [`localhost:${port}`] });
    const socket = connect(path);
    socket.end(`CONNECT localhost:${port} HTTP/1.1\r\nhost: x\r\n\r\nearly`);
    expect(await text(socket)).toMatch(/^HTTP\/1.1 200 .*early$/s);
  });

  test.each([
    ['a host that is not listed', 'evil.example:443', /403 .*evil.example:443 is not among the hosts/s],
    ['another port', 'api.example.com:22', /403 .*api.example.com:22 is not among/s],
    ['an address of a listed kind of name', '127.0.0.1:443', /403 .*not among/s],
    ['a number that stands for an address', '2130706433:443', /403 .*not among/s],
    ['nonsense', 'nonsense', /400 .*needs a host/s],
  ])('refuses %s', async (_, target, answer) => {
    await open({ hosts: ['api.example.com', '*.example.com'] });
    expect(await tunnel(target)).toMatch(answer);
  });

  test('refuses a name that is listed and leads to a private address', async () => {
    const port = await listen(createTcpServer((socket) => socket.end('secret')));
    await open({ hosts: [`*:${port}`] });
    const answer = await tunnel(`localhost:${port}`);
    expect(answer).toMatch(/403 .*localhost is at .*127.0.0.1.*no public address/s);
    expect(answer).not.toContain('secret');
  });

  test('says that a host does not answer', async () => {
    const server = createTcpServer();
    const port = await listen(server);
    server.close();
    await open({ hosts: [`127.0.0.1:${port}`] });
    expect(await tunnel(`127.0.0.1:${port}`)).toMatch(/502 .*ECONNREFUSED/s);
  });
});

describe('plain HTTP', () => {
  test('goes to listed hosts, without what belongs to the connection', async () => {
    const seen: IncomingMessage[] = [];
    const port = await listen(
      createServer(async (incoming, response) => {
        seen.push(incoming);
        response.end(`got ${await text(incoming)}`);
      }),
    );
    await open({ hosts: [`127.0.0.1:${port}`] });
    const headers = { 'proxy-authorization': 'x', connection: 'x-drop', 'x-drop': '1', 'x-keep': '2' };
    const answer = await ask({ path: `http://127.0.0.1:${port}/a?b=c`, method: 'POST', headers, body: 'data' });
    expect(answer).toEqual({ status: 200, body: 'got data' });
    expect(seen[0]?.url).toBe('/a?b=c');
    expect(seen[0]?.headers).toMatchObject({ host: `127.0.0.1:${port}`, 'x-keep': '2' });
    expect(Object.keys(seen[0]?.headers ?? {})).not.toContain('x-drop');
    expect(Object.keys(seen[0]?.headers ?? {})).not.toContain('proxy-authorization');
  });

  test.each(['http://evil.example/', 'http://169.254.169.254/latest/meta-data/', 'http://[::1]/'])(
    'to %s is refused',
    async (target) => {
      await open({ hosts: ['api.example.com'] });
      expect(await ask({ path: target })).toMatchObject({ status: 403 });
    },
  );
});

describe('an endpoint', () => {
  test('gets its key here, whatever the program sends', async () => {
    const seen: IncomingMessage[] = [];
    const port = await listen(
      createServer((incoming, response) => {
        seen.push(incoming);
        response.end('ok');
      }),
    );
    const url = `http://127.0.0.1:${port}/v1`;
    await open({ endpoints: [{ variable: 'BASE', url, headers: { Authorization: 'Bearer KEY' } }] });
    const headers = { authorization: 'Bearer stolen', 'x-other': '1' };
    expect(await ask({ path: '/0/messages?beta=1', headers })).toEqual({ status: 200, body: 'ok' });
    expect(seen[0]?.url).toBe('/v1/messages?beta=1');
    expect(seen[0]?.headers).toMatchObject({ authorization: 'Bearer KEY', 'x-other': '1', host: `127.0.0.1:${port}` });
  });

  test.each(['/1/x', '/', '/x', '/0/../admin', '/0/%2e%2e/admin'])('is not %s', async (target) => {
    await open({ endpoints: [{ variable: 'BASE', url: 'http://127.0.0.1:1/v1', headers: {} }] });
    expect((await ask({ path: target })).status).toSatisfy((status) => status === 404 || status === 400);
  });
});

describe('the proxy', () => {
  test('has a socket of the owner only, and removes it', async () => {
    const proxy = await open({ hosts: ['x'] });
    expect(statSync(path).mode & 0o777).toBe(0o600);
    await proxy.close();
    expect(() => statSync(path)).toThrow('ENOENT');
  });

  test('cuts what is open when the turn ends', async () => {
    const port = await listen(createTcpServer(() => undefined));
    const proxy = await open({ hosts: [`127.0.0.1:${port}`] });
    const socket = connect(path);
    socket.write(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\nhost: x\r\n\r\n`);
    await once(socket, 'data');
    const closed = once(socket, 'close');
    await proxy.close();
    await closed;
  });

  test('does not read headers without end', async () => {
    await open({ hosts: ['x'] });
    const socket = connect(path);
    socket.write(`GET http://x/ HTTP/1.1\r\nx: ${'a'.repeat(64 * 1024)}\r\n\r\n`);
    const answer = await text(socket).catch((error) => error.code);
    expect(answer).toMatch(/^HTTP\/1.1 431 |ECONNRESET/);
  });
});

async function open(options: { hosts?: readonly string[]; endpoints?: readonly Endpoint[] }): Promise<OpenProxy> {
  const proxy = await openProxy({ path, hosts: options.hosts ?? [], endpoints: options.endpoints ?? [] });
  ends.push(() => proxy.close());
  return proxy;
}

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  ends.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

function tunnel(target: string): Promise<string> {
  const socket = connect(path);
  socket.write(`CONNECT ${target} HTTP/1.1\r\nhost: x\r\n\r\n`);
  return text(socket);
}

async function ask(wish: { path: string; method?: string; headers?: Record<string, string>; body?: string }) {
  const { body, ...options } = wish;
  const sent = request({ socketPath: path, ...options });
  sent.end(body);
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  return { status: answer.statusCode, body: await text(answer) };
}
