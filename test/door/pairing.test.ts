import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startDaemon, type TestDaemon } from '../helpers/daemon.ts';
import { ask } from '../helpers/http.ts';

let world: TestDaemon;
let url: string;
let time = Date.now();

beforeAll(async () => {
  world = await startDaemon({ clock: () => time, publicUrl: 'https://team.example.com/substrat' });
  url = (await world.client.getStatus()).url ?? '';
});
afterAll(() => world.stop());

const post = (path: string, body: object, token?: string) =>
  ask({ url }, path, { method: 'POST', body, ...(token && { headers: { authorization: `Bearer ${token}` } }) });
const get = (path: string, token: string) => ask({ url }, path, { headers: { authorization: `Bearer ${token}` } });
async function signIn(as: string): Promise<string> {
  const { code } = await world.client.createLink({ as });
  return (await post('/api/sign-in', { code })).json.token;
}
async function begin(token: string): Promise<{ id: string; code: string }> {
  const { json } = await post('/api/pairings', {}, token);
  return { id: json.id, code: json.url.split('#pair=')[1] };
}
const claim = (code: string) => post('/api/pairings/claim', { code, label: 'Chrome on Android' });
const redeem = (of: string) => post('/api/pairings/redeem', { claim: of });

describe('pairing a phone', () => {
  test('needs an https address', async () => {
    await using plain = await startDaemon({ config: '' });
    await expect(plain.client.startPairing()).rejects.toMatchObject({ code: 'conflict' });
    const { json } = await post('/api/pairings', {}, await signIn('user'));
    expect(json.url).toMatch(/^https:\/\/team\.example\.com\/substrat\/#pair=[\w-]{22}$/);
    expect(Date.parse(json.expiresAt) - time).toBe(60_000);
  });

  test('gives a token of the same person, once, after it was confirmed on the first screen', async () => {
    const anna = await signIn('anna');
    const { id, code } = await begin(anna);
    expect((await get(`/api/pairings/${id}`, anna)).json).toMatchObject({ state: 'open', check: null });
    const { json: claimed } = await claim(code);
    expect((await claim(code)).status).toBe(401);
    expect((await get(`/api/pairings/${id}`, anna)).json).toEqual({
      state: 'claimed',
      label: 'Chrome on Android',
      check: claimed.check,
    });
    expect((await redeem(claimed.claim)).json).toEqual({ status: 'waiting', token: null });
    expect((await redeem(code)).status).toBe(401);
    // Nobody else can look at it or confirm it.
    const bert = await signIn('bert');
    expect((await get(`/api/pairings/${id}`, bert)).status).toBe(404);
    expect((await post(`/api/pairings/${id}/confirm`, {}, bert)).status).toBe(404);
    expect((await post(`/api/pairings/${id}/confirm`, {})).status).toBe(401);
    expect((await redeem(claimed.claim)).json.status).toBe('waiting');
    expect((await post(`/api/pairings/${id}/confirm`, {}, anna)).status).toBe(200);
    const { json } = await redeem(claimed.claim);
    expect(json).toMatchObject({ status: 'confirmed', token: { as: 'anna', owner: false } });
    expect((await get('/api/me', json.token.token)).json).toMatchObject({ handle: 'anna', token: { kind: 'phone' } });
    expect((await redeem(claimed.claim)).status).toBe(401);
  });

  test('needs a fresh sign-in: neither an old token nor a paired one makes others', async () => {
    const anna = await signIn('anna');
    time += 600_000;
    const { id, code } = await begin(anna);
    const { json: claimed } = await claim(code);
    await post(`/api/pairings/${id}/confirm`, {}, anna);
    const phone = (await redeem(claimed.claim)).json.token.token;
    expect((await post('/api/pairings', {}, phone)).status).toBe(403);
    expect((await post('/api/tokens', { as: 'anna' }, phone)).status).toBe(403);
    time += 1;
    expect((await post('/api/pairings', {}, anna)).json).toMatchObject({ error: { code: 'forbidden' } });
  });

  test('gives nothing to a token that was revoked meanwhile, and so does a link', async () => {
    const revoke = async (token: string) => world.client.revokeToken((await get('/api/me', token)).json.token.id);
    const anna = await signIn('anna');
    const { id, code } = await begin(anna);
    const { json: claimed } = await claim(code);
    await post(`/api/pairings/${id}/confirm`, {}, anna);
    await revoke(anna);
    expect((await redeem(claimed.claim)).status).toBe(401);
    const { token: api } = await world.client.createToken({ as: 'user' });
    const link = async () => (await post('/api/links', { as: 'user' }, api)).json.code;
    const [used, late] = [await link(), await link()];
    expect((await post('/api/sign-in', { code: used })).status).toBe(201);
    await revoke(api);
    expect((await post('/api/sign-in', { code: late })).status).toBe(401);
  });

  test('ends after 60 seconds, when it is refused, and when another one begins', async () => {
    const anna = await signIn('anna');
    const old = await begin(anna);
    time += 60_000;
    expect((await claim(old.code)).status).toBe(401);
    const late = await begin(anna);
    const { json: lateClaim } = await claim(late.code);
    time += 60_000;
    expect((await post(`/api/pairings/${late.id}/confirm`, {}, anna)).status).toBe(404);
    expect((await redeem(lateClaim.claim)).status).toBe(401);
    const refused = await begin(anna);
    // What was not scanned cannot be confirmed.
    expect((await post(`/api/pairings/${refused.id}/confirm`, {}, anna)).status).toBe(404);
    const { json: refusedClaim } = await claim(refused.code);
    const headers = { authorization: `Bearer ${anna}` };
    expect((await ask({ url }, `/api/pairings/${refused.id}`, { method: 'DELETE', headers })).status).toBe(200);
    expect((await redeem(refusedClaim.claim)).status).toBe(401);
    const first = await begin(anna);
    await begin(anna);
    expect((await claim(first.code)).status).toBe(401);
  });
});
