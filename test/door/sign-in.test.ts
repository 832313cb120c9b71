import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startDaemon, type TestDaemon } from '../helpers/daemon.ts';
import { type Ask, ask } from '../helpers/http.ts';
import { runSubstrat } from '../helpers/substrat.ts';

let world: TestDaemon;
let url: string;
let time = Date.now();

beforeAll(async () => {
  world = await startDaemon({ members: { lead: {} }, clock: () => time, config: '' });
  url = (await world.client.getStatus()).url ?? '';
});

afterAll(() => world.stop());

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

const signIn = (code: string, more: Ask = {}) =>
  ask({ url }, '/api/sign-in', { method: 'POST', body: { code, label: 'test' }, ...more });
const as = (token: string, path: string, more: Ask = {}) =>
  ask({ url }, path, { ...more, headers: { ...more.headers, authorization: `Bearer ${token}` } });
async function newToken(person?: string): Promise<string> {
  const { code } = await world.client.createLink(person === undefined ? {} : { as: person });
  return (await signIn(code)).json.token;
}

describe('a link', () => {
  test('has its code in the fragment, with 128 bits', async () => {
    const link = await world.client.createLink();
    expect(link.url).toBe(`${url}/#code=${link.code}`);
    expect(Buffer.from(link.code, 'base64url')).toHaveLength(16);
    expect(link.as).toBe('user');
  });

  test('signs in once', async () => {
    const { code } = await world.client.createLink();
    const first = await signIn(code);
    expect(first.status).toBe(201);
    expect(first.json).toMatchObject({ as: 'user', owner: true });
    expect((await as(first.json.token, '/api/me')).json).toMatchObject({ handle: 'user', token: { kind: 'page' } });
    const second = await signIn(code);
    expect([second.status, second.json.error.code]).toEqual([401, 'unauthorized']);
  });

  test('is void after 2 minutes', async () => {
    const { code } = await world.client.createLink();
    time += 2 * MINUTE;
    expect((await signIn(code)).status).toBe(401);
  });

  test('is not exchanged for another origin', async () => {
    const { code } = await world.client.createLink();
    expect((await signIn(code, { headers: { origin: 'http://evil.example' } })).status).toBe(403);
    expect((await signIn(code, { headers: { host: 'evil.example' } })).status).toBe(403);
    expect((await signIn(code, { headers: { origin: url } })).status).toBe(201);
  });

  test('is made by the owner only, and not with a token of a page', async () => {
    const anna = await world.client.createToken({ as: 'anna' });
    const post = { method: 'POST', body: {} };
    expect((await as(anna.token, '/api/links', post)).status).toBe(403);
    expect((await as(await newToken(), '/api/links', post)).status).toBe(403);
    expect((await ask({ url }, '/api/links', post)).status).toBe(401);
  });

  test('is printed by `substrat page`, for another person too', async () => {
    const printed = await runSubstrat(['page', '--as', 'anna'], { home: world.home });
    expect(printed.stdout.trim()).toMatch(`${url}/#code=`);
    const { json } = await signIn(printed.stdout.trim().split('#code=')[1] ?? '');
    expect(json).toMatchObject({ as: 'anna', owner: false });
  });
});

describe('the token of a page', () => {
  test('is listed with its kind and label, and can be revoked', async () => {
    const token = await newToken();
    const { token: mine } = (await as(token, '/api/me')).json;
    const listed = (await world.client.listTokens()).items.find(({ id }) => id === mine.id);
    expect(listed).toMatchObject({ kind: 'page', label: 'test', as: 'user', revokedAt: null });
    await world.client.revokeToken(mine.id);
    expect((await as(token, '/api/me')).status).toBe(401);
  });

  test('makes no tokens', async () => {
    const made = await as(await newToken(), '/api/tokens', { method: 'POST', body: { as: 'mallory' } });
    expect([made.status, made.json.error.code]).toEqual([403, 'forbidden']);
  });

  test('expires after 30 days without use; use extends it', async () => {
    const [used, unused] = [await newToken(), await newToken()];
    time += 29 * DAY;
    expect((await as(used, '/api/me')).status).toBe(200);
    time += DAY;
    expect((await as(used, '/api/me')).status).toBe(200);
    expect((await as(unused, '/api/me')).status).toBe(401);
  });

  test('ends with signing out, which tells the browser to forget', async () => {
    const token = await newToken('anna');
    const left = await as(token, '/api/sign-out', { method: 'POST' });
    expect(left.status).toBe(200);
    expect(left.headers['clear-site-data']).toContain('"storage"');
    expect((await as(token, '/api/me')).status).toBe(401);
  });
});

describe('the files of the page', () => {
  test('need no token, and have a strict policy', async () => {
    const page = await ask({ url }, '/');
    expect(page.status).toBe(200);
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
    const policy = page.headers['content-security-policy'] ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("require-trusted-types-for 'script'");
    expect(policy).not.toMatch(/unsafe|\*|https?:/);
    expect(page.headers['x-content-type-options']).toBe('nosniff');
    const script = /src="\.(\/assets\/[^"]+)"/.exec(page.text)?.[1] ?? '';
    expect((await ask({ url }, script)).headers['cache-control']).toContain('immutable');
  });

  test('are only those that were built', async () => {
    for (const path of [
      '/assets/../../../package.json',

      '/package.json',
      '/assets/x.js',
    ]) {
      expect([path, (await ask({ url }, path)).status]).toEqual([path, 401]);
    }
  });

  test('are not served under a foreign name', async () => {
    expect((await ask({ url }, '/', { headers: { host: 'evil.example' } })).status).toBe(403);
  });
});

test('behind a proxy, exactly the public address is accepted too', async () => {
  await using proxied = await startDaemon({ config: '', publicUrl: 'https://team.example.com/substrat' });
  const at = (await proxied.client.getStatus()).url ?? '';
  const link = await proxied.client.createLink();
  expect(link.url).toMatch(/^https:\/\/team\.example\.com\/substrat\/#code=/);
  const post = (headers: Record<string, string>) =>
    ask({ url: at }, '/api/sign-in', { method: 'POST', body: { code: 'x' }, headers });
  const host = 'team.example.com';
  expect((await post({ host, origin: 'https://team.example.com' })).status).toBe(401);
  expect((await post({ host, origin: 'http://team.example.com' })).status).toBe(403);
  expect((await post({ host: 'example.com', 'x-forwarded-host': host })).status).toBe(403);
});
