import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createClient } from '../../src/client/client.ts';
import { startDaemon, type TestDaemon } from '../helpers/daemon.ts';
import { type Ask, ask } from '../helpers/http.ts';
import { until } from '../helpers/until.ts';

let world: TestDaemon;
let url: string;
let host: string;
let token: string;

beforeAll(async () => {
  world = await startDaemon({ members: { boss: {}, worker: { parent: 'boss' }, other: {} } });
  url = (await world.client.getStatus()).url ?? '';
  host = new URL(url).host;
  token = readFileSync(join(world.home, 'token'), 'utf8').trim();
});

afterAll(() => world.stop());

const tcp = (path: string, headers: Record<string, string> = {}, more: Ask = {}) =>
  ask({ url }, path, { ...more, headers: { authorization: `Bearer ${token}`, ...headers } });

describe('on TCP', () => {
  test('/health and the page are open, everything else requires the token', async () => {
    expect((await ask({ url }, '/health')).status).toBe(200);
    expect((await ask({ url }, '/')).status).toBe(200);
    for (const path of ['/api/status', '/api/agents', '/api/events', '/api/openapi.json', '/nothing']) {
      expect([path, (await ask({ url }, path)).status]).toEqual([path, 401]);
    }
    expect((await tcp('/api/status')).status).toBe(200);
  });

  test('/metrics tells only the owner what runs, waits and costs, and how long requests take', async () => {
    const guest = await world.client.createToken({ as: 'gina' });
    expect((await ask({ url }, '/metrics')).status).toBe(401);
    expect((await tcp('/metrics', { authorization: `Bearer ${guest.token}` })).status).toBe(403);
    await tcp('/api/agents/other/messages', {}, { method: 'POST', body: { text: 'hello' } });
    const { status, headers, text } = await tcp('/metrics');
    expect([status, headers['content-type']]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8']);
    const value = (name: string) => Number(new RegExp(`^substrat_${name} (.+)$`, 'm').exec(text)?.[1]);
    expect(value('deliveries_pending')).toBe(1);
    expect(value('agents{node="[^"]+"}')).toBe(3);
    expect(value('store_bytes')).toBeGreaterThan(10_000);
    for (const name of ['runs_total', 'tokens_total{kind="input"}', 'cost_usd_total'])
      expect(value(name)).toBeGreaterThanOrEqual(0);
    const took = 'http_request_duration_seconds';
    expect(value(`${took}_bucket{method="POST",le="\\+Inf"}`)).toBe(value(`${took}_count{method="POST"}`));
    expect(value(`${took}_count{method="POST"}`)).toBeGreaterThan(0);
    for (const line of text.trim().split('\n'))
      expect(line).toMatch(/^(# (HELP|TYPE) \w+ .+|\w+(\{[^}]+\})? -?[\d.e+-]+)$/);
  });

  test.each(['', 'Bearer', 'Bearer ', 'Basic eA==', 'Bearer x', `Bearer ${'x'.repeat(5000)}`])(
    'refuses the authorization %j',
    async (authorization) => {
      expect((await ask({ url }, '/api/status', { headers: { authorization } })).status).toBe(401);
    },
  );

  test.each([
    ['Host', { host: 'evil.example' }],
    ['Host', { host: 'localhost' }],
    ['Origin', { origin: 'http://evil.example' }],
    ['Origin', { origin: 'null' }],
    ['Origin', { origin: 'https://localhost:1' }],
  ])('refuses a foreign %s: %j', async (_, headers) => {
    const answer = await tcp('/api/status', headers as Record<string, string>);
    expect([answer.status, answer.json.error.code]).toEqual([403, 'forbidden']);
  });

  test('accepts its own names and origins', async () => {
    const port = new URL(url).port;
    for (const name of [host, `localhost:${port}`, `[::1]:${port}`]) {
      expect((await tcp('/api/status', { host: name, origin: `http://${name}` })).status).toBe(200);
    }
  });

  test('a token belongs to a person, and is useless once revoked', async () => {
    const made = await world.client.createToken({ as: 'anna', label: 'laptop' });
    const anna = createClient({ url, token: made.token });
    await expect(anna.getStatus()).rejects.toMatchObject({ code: 'forbidden' });
    const { messageId } = await anna.sendMessage('boss', { text: 'hello from anna' });
    expect(await anna.getMessage(messageId)).toMatchObject({ from: 'anna', text: 'hello from anna' });
    await world.client.revokeToken(made.id);
    await expect(anna.getMessage(messageId)).rejects.toMatchObject({ code: 'unauthorized' });
    await expect(world.client.revokeToken(made.id)).rejects.toMatchObject({ code: 'not_found' });
  });

  test('a person sees root agents, their own conversations, and nothing else', async () => {
    const made = await world.client.createToken({ as: 'bert' });
    const bert = createClient({ url, token: made.token });
    const secret = await world.client.sendMessage('other', { text: 'between us' });
    await expect(bert.getMessage(secret.messageId)).rejects.toMatchObject({ code: 'not_found' });
    await expect(bert.getChannel('dm-other-user')).rejects.toMatchObject({ code: 'not_found' });
    await expect(bert.getAgent('worker')).rejects.toMatchObject({ code: 'not_found' });
    for (const call of [() => bert.listAgents(), () => bert.listRuns(), () => bert.listTokens()]) {
      await expect(call()).rejects.toMatchObject({ code: 'forbidden' });
    }
    expect((await bert.listParticipants()).items).toEqual([]);
    expect(await bert.getAgent('boss')).toMatchObject({ name: 'boss' });
    await bert.sendMessage('boss', { text: 'mine' });
    expect((await bert.listChannels()).items.map(({ id }) => id)).toEqual(['dm-bert-boss']);
    const seen: string[] = [];
    const stop = new AbortController();
    for await (const event of bert.followEvents({ after: 0, signal: stop.signal })) {
      seen.push(JSON.stringify(event));
      if (seen.length === 1) stop.abort();
    }
    expect(seen.join()).toContain('mine');
    expect(seen.join()).not.toContain('between us');
  });

  test('only hashes of tokens are stored, and nothing secret is logged', async () => {
    const made = await world.client.createToken({ as: 'carl' });
    await createClient({ url, token: made.token }).listInbox();
    const files = ['substrat.db', 'substrat.db-wal', 'daemon.log'].map((name) =>
      readFileSync(join(world.home, name), 'latin1'),
    );
    expect(files.some((text) => text.includes(made.token))).toBe(false);
    expect(files.some((text) => text.includes(token))).toBe(false);
  });
});

describe('limits', () => {
  test('a body of 1 GB is refused early, with and without a declared length', async () => {
    for (const headers of [{ 'content-length': String(1024 ** 3) }, { 'transfer-encoding': 'chunked' }]) {
      const answer = await sendForever(headers);
      expect(answer).toBe(413);
    }
    expect((await tcp('/api/status')).status).toBe(200);
  });

  test('a header of 1 MB is refused', async () => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    socket.on('error', () => {});
    socket.write(`GET /health HTTP/1.1\r\nHost: ${host}\r\nX-Long: ${'x'.repeat(1024 ** 2)}\r\n\r\n`);
    expect(await firstLine(socket)).toMatch(/ 431 /);
  });

  test('a client that sends a byte at a time is disconnected, and others are served meanwhile', {
    timeout: 60_000,
  }, async () => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    socket.on('error', () => {});
    socket.write('GET /health HTTP/1.1\r\nHost: x\r\n');
    const drip = setInterval(() => socket.write('X: y\r\n'), 500);
    const cut = firstLine(socket);
    expect((await tcp('/api/status')).status).toBe(200);
    expect(await cut).toMatch(/ 408 |^$/);
    clearInterval(drip);
  });

  test('10,000 idle connections do not lock others out', { timeout: 120_000 }, async () => {
    const { port } = new URL(url);
    const sockets: Socket[] = [];
    let refused = 0;
    for (let n = 0; n < 10_000; n += 1) {
      const socket = connect(Number(port), '127.0.0.1');
      socket.on('error', () => {});
      socket.on('close', () => (refused += 1));
      sockets.push(socket);
      if (n % 200 === 0) await new Promise((resolve) => socket.once('connect', resolve).once('error', resolve));
    }
    expect((await tcp('/api/status')).status).toBe(200);
    await until('old ones are let go', () => refused > 0);
    expect((await tcp('/api/agents')).status).toBe(200);
    for (const socket of sockets) socket.destroy();
  });
});

/** Sends an endless body; returns the response status. */
function sendForever(headers: Record<string, string>): Promise<number> {
  return new Promise((resolve, reject) => {
    const outgoing = request(new URL('/api/agents', url), {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
    });
    const chunk = Buffer.alloc(1024 ** 2, 'x');
    let sent = 0;
    const more = (): void => {
      while (sent < 1024 && !outgoing.destroyed && outgoing.write(chunk)) sent += 1;
    };
    outgoing.on('drain', more);
    outgoing.on('response', (response) => {
      resolve(response.statusCode ?? 0);
      outgoing.destroy();
    });
    outgoing.on('error', reject);
    more();
  });
}

function firstLine(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    socket.once('data', (data) => resolve(data.toString().split('\r\n')[0] ?? ''));
    socket.once('close', () => resolve(''));
  });
}
