import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, request } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer, type Server } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { noBwrap } from '../../test/helpers/bwrap.ts';
import type { Admission, Endpoint } from '../core/command.ts';
import { createProxy, type ProxyOptions, type RunProxy } from './proxy.ts';

const root = join(import.meta.dirname, '../..');
/** The port of the proxy. */
let door: number;
let ends: (() => unknown)[];

beforeEach(() => {
  ends = [];
});
afterEach(async () => {
  for (const end of ends.reverse()) await end();
});

describe('CONNECT', () => {
  test('reaches a listed host and port', async () => {
    const port = await listen(createTcpServer((socket) => socket.end('hello from outside')));
    await open({ hosts: [`127.0.0.1:${port}`] });
    expect(await tunnel(`127.0.0.1:${port}`)).toBe('HTTP/1.1 200 Connection established\r\n\r\nhello from outside');
  });

  test('forwards data that was sent with the request', async () => {
    const port = await listen(createTcpServer((socket) => socket.pipe(socket)));
    await open({ hosts: [`localhost:${port}`] });
    const socket = connect(door, '127.0.0.1');
    socket.end(`CONNECT localhost:${port} HTTP/1.1\r\nhost: x\r\n\r\nearly`);
    expect(await text(socket)).toMatch(/^HTTP\/1.1 200 .*early$/s);
  });

  test.each([
    ['a host that is not listed', 'evil.example:443', /403 .*may not reach evil.example:443/s],
    ['another port', 'api.example.com:22', /403 .*may not reach api.example.com:22/s],
    ['an address of a listed kind of name', '127.0.0.1:443', /403 .*may not reach/s],
    ['a number that stands for an address', '2130706433:443', /403 .*may not reach/s],
    ['nonsense', 'nonsense', /400 .*needs a host/s],
  ])('refuses %s', async (_, target, answer) => {
    await open({ hosts: ['api.example.com', '*.example.com'] });
    expect(await tunnel(target)).toMatch(answer);
  });

  test('refuses a listed name that resolves to a private address', async () => {
    const port = await listen(createTcpServer((socket) => socket.end('secret')));
    await open({ hosts: [`*:${port}`] });
    const answer = await tunnel(`localhost:${port}`);
    expect(answer).toMatch(/403 .*localhost is at .*127.0.0.1.*not a public address/s);
    expect(answer).not.toContain('secret');
  });

  test('reports that a host does not respond', async () => {
    const server = createTcpServer();
    const port = await listen(server);
    server.close();
    await open({ hosts: [`127.0.0.1:${port}`] });
    expect(await tunnel(`127.0.0.1:${port}`)).toMatch(/502 .*ECONNREFUSED/s);
  });
});

describe('plain HTTP', () => {
  test('reaches listed hosts, without hop-by-hop headers', async () => {
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

describe('a request of plain HTTP', () => {
  test('opens one connection per request', async () => {
    let connections = 0;
    const server = createServer((_, response) => response.end('ok')).on('connection', () => {
      connections += 1;
    });
    const port = await listen(server);
    await open({ hosts: [`127.0.0.1:${port}`] });
    for (const method of ['GET', 'POST', 'DELETE']) {
      expect(await ask({ path: `http://127.0.0.1:${port}/`, method })).toEqual({ status: 200, body: 'ok' });
    }
    expect(connections).toBe(3);
  });

  test('uses the checked address even if the DNS server returns another one later', async () => {
    const port = await listen(createServer((_, response) => response.end('secret of this machine')));
    await listen(
      createServer((_, response) => response.end('checked')),
      '127.0.0.2',
      port,
    );
    const answers = ['127.0.0.2', '127.0.0.1'];
    const lookup = async () => [{ address: answers.shift() ?? '127.0.0.1' }];
    await open({ hosts: [`*:${port}`, `127.0.0.2:${port}`], lookup });
    // The machine's resolver, which a second connection would use, also returns the secret's address.
    expect(await ask({ path: `http://localhost:${port}/` })).toEqual({ status: 200, body: 'checked' });
    expect(answers).toEqual(['127.0.0.1']);
    expect(await ask({ path: `http://localhost:${port}/` })).toMatchObject({ status: 403 });
  });

  test.each(['GET', 'DELETE', 'OPTIONS', 'POST'])('keeps the framing of the body of %s', async (method) => {
    const smuggled = 'GET /smuggled HTTP/1.1\r\nhost: x\r\n\r\n';
    const seen: string[] = [];
    const server = createServer(async (incoming, response) => {
      seen.push(`${incoming.url} ${await text(incoming)}`);
      response.end('ok');
    });
    const port = await listen(server);
    await open({ hosts: [`127.0.0.1:${port}`] });
    for (const headers of [{ 'transfer-encoding': 'chunked' }, { 'content-length': String(smuggled.length) }]) {
      expect(await ask({ path: `http://127.0.0.1:${port}/`, method, headers, body: smuggled })).toMatchObject({
        status: 200,
      });
    }
    expect(seen).toEqual([`/ ${smuggled}`, `/ ${smuggled}`]);
  });

  test('refuses a transfer encoding that it cannot keep', async () => {
    const port = await listen(createServer((_, response) => response.end('ok')));
    await open({ hosts: [`127.0.0.1:${port}`] });
    const headers = { 'transfer-encoding': 'gzip, chunked' };
    expect(await ask({ path: `http://127.0.0.1:${port}/`, method: 'POST', headers, body: 'x' })).toMatchObject({
      status: 501,
    });
  });
});

describe.skipIf(noBwrap !== null)('a public address of this machine', () => {
  /** Runs in a network namespace whose loopback also has that address, with a service on every address. */
  test('is refused under `*` and reached if listed', () => {
    const add = `perl -MSocket -e 'socket my $s, AF_INET, SOCK_DGRAM, 0; my $a = pack_sockaddr_in(0, inet_aton("8.8.4.4")); ioctl $s, 0x8916, pack("a16a24", "lo:1", $a) or die $!'`;
    const script = `
      import { createServer, request } from 'node:http';
      import { createServer as createPort } from 'node:net';
      import { createProxy } from ${JSON.stringify(join(import.meta.dirname, 'proxy.ts'))};
      await new Promise((resolve) => createServer((_, response) => response.end('secret')).listen(8080, '0.0.0.0', resolve));
      const lookup = async () => [{ address: '8.8.4.4' }];
      for (const hosts of [['*:8080'], ['*.example.com:8080', 'me.example.com:8080'], ['*:8080', '8.8.4.4:8080']]) {
        const proxy = createProxy({ hosts, endpoints: [], lookup });
        await new Promise((resolve) => {
          const port = createPort().listen(9090, '127.0.0.1', () => resolve(proxy.serve(port)));
        });
        const sent = request({ host: '127.0.0.1', port: 9090, path: 'http://me.example.com:8080/' }).end();
        console.log(await new Promise((resolve) => sent.on('response', (answer) => resolve(answer.statusCode))));
        await proxy.close();
      }
      process.exit();`;
    const options = ['--unshare-user', '--unshare-net', '--cap-add', 'CAP_NET_ADMIN', '--die-with-parent'];
    const mounts = [
      '--ro-bind',
      '/',
      '/',
      '--dev',
      '/dev',
      '--proc',
      '/proc',
      '--tmpfs',
      '/tmp',
      '--ro-bind',
      root,
      root,
    ];
    const node = [process.execPath, '--input-type=module', '-e', script];
    const shell = ['sh', '-c', `${add} && exec "$@"`, 'sh'];
    const said = spawnSync('bwrap', [...options, ...mounts, '--', ...shell, ...node], { encoding: 'utf8' });
    expect(said).toMatchObject({ stdout: '403\n403\n200\n', stderr: '' });
  });
});

describe('a response', () => {
  test.each(['000', '099', '101', '199'])('with the status %s becomes a 502', async (status) => {
    const port = await listen(
      createTcpServer((socket) => {
        socket.on('error', () => {});
        socket.end(`HTTP/1.1 ${status} Odd\r\nconnection: upgrade\r\nupgrade: x\r\ncontent-length: 0\r\n\r\n`);
      }),
    );
    const url = `http://127.0.0.1:${port}`;
    await open({ hosts: [`127.0.0.1:${port}`], endpoints: [{ variable: 'BASE', url, headers: {} }] });
    for (const target of [`${url}/`, '/0/']) {
      for (const method of ['GET', 'POST', 'HEAD'])
        expect(await ask({ path: target, method })).toMatchObject({ status: 502 });
    }
  });

  test('is not affected when another one breaks', async () => {
    const broken = await listen(createTcpServer((socket) => socket.end('HTTP/1.1 000 Odd\r\n\r\n')));
    const slow = createServer(async (incoming, response) => {
      response.write('first ');
      response.end(await text(incoming));
    });
    const port = await listen(slow);
    await open({ hosts: [`127.0.0.1:${port}`, `127.0.0.1:${broken}`] });
    const sent = request({ host: '127.0.0.1', port: door, path: `http://127.0.0.1:${port}/`, method: 'POST' });
    sent.write('second');
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    expect(await ask({ path: `http://127.0.0.1:${broken}/` })).toMatchObject({ status: 502 });
    sent.end();
    expect(await text(answer)).toBe('first second');
  });
});

describe('an endpoint', () => {
  test('gets its key from the proxy, whatever the program sends', async () => {
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

  test.each([
    '/1/x',
    '/',
    '/x',
    '/0x',
    '/0/../admin',
    '/0/%2e%2e/admin',
    '/0/../v1evil',
    '/0/.%2E/v1.evil/x',
    '/0/..%2fv1evil',
    '/0/..%252fv1evil',
    '/0/..\\v1evil',
    '/0/..;/v1evil',
    '/0/%25252525252e%25252525252e/v1evil',
  ])('is not %s', async (target) => {
    const { url, seen } = await endpoint();
    await open({ endpoints: [{ variable: 'BASE', url, headers: { Authorization: 'Bearer KEY' } }] });
    expect((await ask({ path: target })).status).toSatisfy((status) => status === 404 || status === 400);
    expect(seen).toEqual([]);
  });

  test.each([
    ['/0', '/v1'],
    ['/0/', '/v1/'],
    ['/0?q=..', '/v1?q=..'],
    ['/0/a/../b', '/v1/b'],
    ['/0/../v1/b', '/v1/b'],
    ['/0/a%2Fb/..c/...', '/v1/a%2Fb/..c/...'],
  ])('is %s, which is %s of the service', async (target, asked) => {
    const { url, seen } = await endpoint();
    await open({ endpoints: [{ variable: 'BASE', url: `${url}/`, headers: { Authorization: 'Bearer KEY' } }] });
    expect(await ask({ path: target })).toMatchObject({ status: 200 });
    expect(seen).toEqual([`GET ${asked} Bearer KEY`]);
  });

  test.each(['TRACE', 'TRACK', 'CONNECT'])('does not get its key with %s', async (method) => {
    const { url, seen } = await endpoint();
    await open({ endpoints: [{ variable: 'BASE', url, headers: { Authorization: 'Bearer KEY' } }] });
    const socket = connect(door, '127.0.0.1');
    socket.end(`${method} /0/ HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`);
    expect(await text(socket)).toMatch(/^HTTP\/1.1 (405|400) /);
    expect(seen).toEqual([]);
  });

  describe('of a model', () => {
    /** A service that answers with counts, and what was asked and admitted. */
    async function admitting(answer: Admission | null) {
      const bodies: unknown[] = [];
      const log: string[] = [];
      const port = await listen(
        createServer(async (incoming, response) => {
          bodies.push(JSON.parse(await text(incoming)));
          response.end(JSON.stringify({ usage: { input_tokens: 7, output_tokens: 3 } }));
        }),
      );
      const endpoint: Endpoint = {
        variable: 'BASE',
        url: `http://127.0.0.1:${port}/v1`,
        headers: {},
        dialect: 'anthropic',
        onRequest: async ({ model, outputTokens, leastOutput }) => {
          log.push(`asked ${model} ${outputTokens} ${leastOutput}`);
          return answer && { ...answer, over: () => void log.push('over') };
        },
        onAnswer: ({ inputTokens, outputTokens }) => void log.push(`counted ${inputTokens} ${outputTokens}`),
      };
      await open({ endpoints: [endpoint] });
      const post = (path: string) =>
        ask({ path, method: 'POST', body: JSON.stringify({ model: 'm', max_tokens: 9_000, messages: [] }) });
      return { bodies, log, post, port };
    }

    test('does not get a request that is not admitted', async () => {
      const { bodies, log, post } = await admitting(null);
      expect(await post('/0/messages')).toEqual({
        status: 402,
        body: expect.stringContaining('A budget of this agent does not allow this request. The turn ends.'),
      });
      expect(bodies).toEqual([]);
      expect(log).toEqual(['asked m 9000 1000']);
      // Counting tokens is free.
      expect((await post('/0/messages/count_tokens')).status).toBe(200);
      expect(log.filter((line) => line.startsWith('asked'))).toHaveLength(1);
    });

    test('writes at most what is admitted; a request is over when it was counted', async () => {
      const { bodies, log, post } = await admitting({ outputTokens: 2_000, over: () => {} });
      expect((await post('/0/messages')).status).toBe(200);
      expect(bodies).toEqual([{ model: 'm', max_tokens: 2_000, messages: [] }]);
      await vi.waitFor(() => expect(log).toEqual(['asked m 9000 1000', 'counted 7 3', 'over']));
    });

    test('a request that the service does not answer is over, too', async () => {
      const { log, post, port } = await admitting({ outputTokens: 9_000, over: () => {} });
      await ends.splice(0, 1)[0]?.();
      expect(port).toBeGreaterThan(0);
      expect((await post('/0/messages')).status).toBe(502);
      await vi.waitFor(() => expect(log.filter((line) => line === 'over')).toEqual(['over']));
    });
  });

  test('of a model keeps 64 MiB of unfinished requests in memory, and gives them up with their connections', async () => {
    const { url, seen } = await endpoint();
    await open({ endpoints: [{ variable: 'BASE', url, headers: {}, dialect: 'openai' }] });
    const post = { host: '127.0.0.1', port: door, method: 'POST', path: '/0/responses', agent: false };
    const held = Array.from({ length: 3 }, () => {
      const sent = request({ ...post, headers: { 'content-length': 31 * 1024 ** 2 } });
      sent.on('error', () => {});
      return sent;
    });
    const refused = Promise.any(held.map(async (sent) => ((await once(sent, 'response')) as [IncomingMessage])[0]));
    for (const sent of held) sent.write(Buffer.alloc(30 * 1024 ** 2, ' '));
    expect((await refused).statusCode).toBe(503);
    for (const sent of held) sent.destroy();
    const body = JSON.stringify({ model: 'm', input: 'x'.repeat(5_000_000) });
    const later = async () => (await ask({ method: 'POST', path: '/0/responses', body })).status;
    await vi.waitFor(async () => expect(await later()).toBe(200), { timeout: 20_000 });
    expect(seen).toContain('POST /v1/responses undefined');
  });

  test.each([
    ['anthropic', '/0/messages', { type: 'error', error: { type: 'permission_error' } }],
    ['openai', '/0/responses', { error: { type: 'permission_error', param: null, code: null } }],
    ['gemini', '/0/v1beta/models/m:generateContent', { error: { code: 403, status: 'PERMISSION_DENIED' } }],
  ] as const)('of %s refuses a search by the service in the form of its errors', async (dialect, path, form) => {
    const { url, seen } = await endpoint();
    await open({ endpoints: [{ variable: 'BASE', url, headers: {}, dialect }], hosts: ['a.org'] });
    const tools = dialect === 'gemini' ? [{ googleSearch: {} }] : [{ type: 'web_search_20250305' }];
    const refused = await ask({ method: 'POST', path, body: JSON.stringify({ model: 'm', tools }) });
    expect(refused.status).toBe(403);
    expect(JSON.parse(refused.body)).toMatchObject(form);
    expect(JSON.parse(refused.body).error.message).toMatch(/run code outside the sandbox/);
    expect(seen).toEqual([]);
  });

  test('of a model lets the service fetch only from the hosts and ports of the list', async () => {
    const { url, seen } = await endpoint();
    await open({
      endpoints: [{ variable: 'BASE', url, headers: {}, dialect: 'openai' }],
      hosts: ['a.org', 'b.org:8443'],
    });
    const look = async (image_url: string) => {
      const input = [{ role: 'user', content: [{ type: 'input_image', image_url }] }];
      const body = JSON.stringify({ model: 'm', input });
      return (await ask({ method: 'POST', path: '/0/responses', body })).status;
    };
    expect(await look('https://a.org/x')).toBe(200);
    expect(await look('https://b.org:8443/x')).toBe(200);
    expect(seen).toHaveLength(2);
    for (const address of [
      'https://a.org:8443/',
      'https://b.org/',
      'https://c.a.org/',
      'ftp://a.org/',
      'https://a.org@c.org/',
    ]) {
      expect(await look(address)).toBe(403);
    }
    expect(seen).toHaveLength(2);
  });

  /** A service that records the requests it receives, with their keys. */
  async function endpoint(): Promise<{ url: string; seen: string[] }> {
    const seen: string[] = [];
    const server = createServer((incoming, response) => {
      seen.push(`${incoming.method} ${incoming.url} ${incoming.headers.authorization}`);
      response.end('ok');
    });
    return { url: `http://127.0.0.1:${await listen(server)}/v1`, seen };
  }
});

describe('the proxy', () => {
  test('closes the socket that it serves', async () => {
    const proxy = await open({ hosts: ['x'] });
    expect(await ask({ path: '/' })).toMatchObject({ status: 404 });
    await proxy.close();
    await expect(ask({ path: '/' })).rejects.toThrow('ECONNREFUSED');
  });

  test('closes a socket that arrives after it was closed', async () => {
    const proxy = createProxy({ hosts: [], endpoints: [] });
    await proxy.close();
    const listening = createTcpServer();
    const port = await listen(listening);
    proxy.serve(listening);
    await expect(once(connect(port, '127.0.0.1'), 'connect')).rejects.toThrow('ECONNREFUSED');
  });

  test('closes open connections when the turn ends', async () => {
    const port = await listen(createTcpServer(() => undefined));
    const proxy = await open({ hosts: [`127.0.0.1:${port}`] });
    const socket = connect(door, '127.0.0.1');
    socket.write(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\nhost: x\r\n\r\n`);
    await once(socket, 'data');
    const closed = once(socket, 'close');
    await proxy.close();
    await closed;
  });

  test('does not read endless headers', async () => {
    await open({ hosts: ['x'] });
    const socket = connect(door, '127.0.0.1');
    socket.write(`GET http://x/ HTTP/1.1\r\nx: ${'a'.repeat(64 * 1024)}\r\n\r\n`);
    const answer = await text(socket).catch((error) => error.code);
    expect(answer).toMatch(/^HTTP\/1.1 431 |ECONNRESET/);
  });
});

async function open(options: Partial<ProxyOptions>): Promise<RunProxy> {
  const proxy = createProxy({ hosts: [], endpoints: [], ...options });
  const listening = createTcpServer();
  door = await listen(listening);
  proxy.serve(listening);
  ends.push(() => proxy.close());
  return proxy;
}

async function listen(server: Server, host = '127.0.0.1', port = 0): Promise<number> {
  server.listen(port, host);
  await once(server, 'listening');
  ends.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

function tunnel(target: string): Promise<string> {
  const socket = connect(door, '127.0.0.1');
  socket.write(`CONNECT ${target} HTTP/1.1\r\nhost: x\r\n\r\n`);
  return text(socket);
}

async function ask(wish: { path: string; method?: string; headers?: Record<string, string>; body?: string }) {
  const { body, ...options } = wish;
  const sent = request({ host: '127.0.0.1', port: door, ...options });
  sent.end(body);
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  return { status: answer.statusCode, body: await text(answer) };
}
