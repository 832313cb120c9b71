import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startDaemon, type TestDaemon } from '../helpers/daemon.ts';
import { ENGINE } from '../helpers/engine.ts';
import { type Ask, ask } from '../helpers/http.ts';
import { type Operation, readOperations } from '../helpers/openapi.ts';

/** Concurrent writers; the number of failed tries grows with the square. */
const MANY = ENGINE === 'postgres' ? 50 : 200;

let world: TestDaemon;
let operations: Operation[];

beforeAll(async () => {
  world = await startDaemon({ members: { anna: {}, bert: {} } });
  operations = readOperations((await ask(world, '/api/openapi.json')).json);
});
afterAll(() => world.stop());

/** A request whose response must match the OpenAPI document. */
async function call(method: string, path: string, options: Ask = {}) {
  const answer = await ask(world, path, { ...options, method });
  const matching = operations.find((one) => {
    const template = new RegExp(`^${one.path.replace(/\{\w+\}/g, '[^/]+')}$`);
    return one.method === method && template.test(path.split('?')[0] as string);
  });
  expect(matching?.fault(answer.status, answer.json)).toBeNull();
  return answer;
}
const put = (path: string, text: string, headers: Record<string, string> = {}) =>
  call('PUT', path, { body: { text }, headers });

describe('a block', () => {
  const path = '/api/agents/anna/memory/mood';

  test('is written, read, listed, deleted and restored, with its version as ETag', async () => {
    expect(await put(path, 'calm')).toMatchObject({ status: 200, headers: { etag: '"1"' }, json: { version: 1 } });
    expect(await put(path, 'happy')).toMatchObject({ headers: { etag: '"2"' } });
    expect(await call('GET', path)).toMatchObject({ headers: { etag: '"2"' }, json: { text: 'happy', owner: 'anna' } });
    expect((await call('GET', '/api/agents/anna/memory')).json.items).toMatchObject([{ label: 'mood' }]);
    expect((await call('GET', '/api/agents/bert/memory')).json.items).toEqual([]);
    expect((await call('DELETE', path)).json).toEqual({ status: 'deleted', label: 'mood' });
    expect((await call('GET', path)).status).toBe(404);
    expect((await call('POST', `${path}/restore`, { body: { version: 1 } })).json).toMatchObject({
      text: 'calm',
      version: 4,
    });
    const { json } = await call('GET', `${path}/history?limit=3`);
    expect(json.items.map((one: { text: string; by: string }) => [one.text, one.by])).toEqual([
      ['calm', 'user'],
      [null, 'user'],
      ['happy', 'user'],
    ]);
    expect((await call('GET', `${path}/history?cursor=${json.nextCursor}`)).json.items).toMatchObject([{ version: 1 }]);
  });

  test('with If-Match, is only changed by a writer who has seen its version', async () => {
    const text = async () => (await call('GET', path)).json.text;
    const { version } = (await put(path, 'first')).json;
    for (const stale of ['"1"', `W/"${version}"`, '"x"', '', `"${version + 1}"`]) {
      expect(await put(path, 'stale', { 'if-match': stale })).toMatchObject({
        status: 412,
        json: { error: { code: 'precondition_failed' } },
      });
    }
    expect((await call('DELETE', path, { headers: { 'if-match': '"1"' } })).status).toBe(412);
    expect((await put(path, 'new', { 'if-none-match': '*' })).status).toBe(412);
    expect(await text()).toBe('first');
    expect((await put(path, 'second', { 'if-match': `"1", "${version}"` })).status).toBe(200);
    expect((await put(path, 'third', { 'if-match': '*' })).status).toBe(200);
    expect((await put('/api/agents/anna/memory/none', 'x', { 'if-match': '*' })).status).toBe(412);
    expect((await put('/api/agents/anna/memory/fresh', 'x', { 'if-none-match': '*' })).status).toBe(200);
  });

  test(`loses no update of ${MANY} concurrent read-increment-write clients`, {
    timeout: 120_000,
  }, async () => {
    const counter = '/api/agents/anna/memory/counter';
    await put(counter, '0');
    const addOne = async (): Promise<number> => {
      for (let tries = 1; ; tries += 1) {
        const read = await ask(world, counter);
        const headers = { 'if-match': read.headers.etag as string };
        const body = { text: String(Number(read.json.text) + 1) };
        const { status } = await ask(world, counter, { method: 'PUT', body, headers });
        if (status === 200) return tries;
        expect(status).toBe(412);
        await pause(Math.random() * 1000);
      }
    };
    const tries = await Promise.all(Array.from({ length: MANY }, addOne));
    expect((await call('GET', counter)).json).toMatchObject({ text: String(MANY), version: MANY + 1 });
    expect(Math.max(...tries)).toBeGreaterThan(1);
  });

  test('of the owner or of an agent can be shared, and one change is visible to all', async () => {
    await put('/api/memory/plan', 'ours');
    const share = (body: object) => call('PUT', '/api/memory/plan/sharing', { body });
    expect((await share({ with: ['anna', 'bert'] })).json).toMatchObject({ sharedWith: ['anna', 'bert'], open: false });
    await put('/api/memory/plan', 'changed');
    const seen = await call('GET', '/api/agents/bert/memory/plan');
    expect(seen.json).toMatchObject({ text: 'changed', owner: 'user' });
    expect((await share({ with: ['nobody'] })).status).toBe(404);
    expect((await share({ with: [] })).json).toMatchObject({ sharedWith: [] });
    expect((await call('GET', '/api/agents/bert/memory/plan')).status).toBe(404);
    await put('/api/agents/bert/memory/mood', 'mine');
    expect((await call('PUT', `${path}/sharing`, { body: { with: ['bert'] } })).status).toBe(409);
    expect((await call('GET', '/api/memory')).json.items).toMatchObject([{ label: 'plan' }]);
  });

  test('is refused if it does not fit', async () => {
    expect((await put('/api/agents/anna/memory/a%2Fb', 'x')).status).toBe(400);
    expect((await put(path, 'x'.repeat(20_001))).status).toBe(400);
    expect((await put(path, 'x\0')).status).toBe(400);
    await world.client.createAgent({ name: 'gone', provider: 'external' });
    await world.client.terminateAgent('gone');
    expect((await put('/api/agents/gone/memory/x', 'x')).status).toBe(410);
  });
});

test('passages are stored once per key, listed by tag and date, searched and deleted', async () => {
  const path = '/api/agents/anna/passages';
  const post = (content: string, tags: string[], headers = {}) =>
    call('POST', path, { body: { content, tags }, headers });
  const twice = [
    await post('C++ is old', ['a'], { 'idempotency-key': 'k' }),
    await post('C++ is old', ['a'], { 'idempotency-key': 'k' }),
  ];
  expect(twice.map(({ status }) => status)).toEqual([201, 201]);
  expect(twice[1]?.json).toEqual(twice[0]?.json);
  await post('Rust is new', ['b']);
  const contents = async (query: string) =>
    (await call('GET', `${path}?${query}`)).json.items.map((one: { content: string }) => one.content);
  expect(await contents('')).toEqual(['Rust is new', 'C++ is old']);
  expect(await contents('tag=a')).toEqual(['C++ is old']);
  // The other one was stored beside it.
  expect(await contents('q=C%2B%2B')).toEqual(['C++ is old', 'Rust is new']);
  expect(await contents('q=C%2B%2B&tag=a,x')).toEqual([]);
  expect(await contents('q=is&tag=b')).toEqual(['Rust is new']);
  expect(await contents('since=2999-01-01')).toEqual([]);
  expect(await contents('until=2999-01-01T00:00:00Z')).toHaveLength(2);
  const { json } = await call('GET', `${path}?limit=1`);
  expect(await contents(`cursor=${json.nextCursor}`)).toEqual(['C++ is old']);
  expect((await call('DELETE', `${path}/${json.items[0].id}`)).json).toMatchObject({ status: 'deleted' });
  expect((await call('DELETE', `/api/agents/bert/passages/${twice[0]?.json.passageId}`)).status).toBe(404);
  expect(await contents('')).toEqual(['C++ is old']);
});

test('the prompt is shown section by section, with what a turn would carry now', async () => {
  const program = world.program('silent', "async () => 'ok'");
  await world.client.createAgent({ name: 'carl', program, instructions: 'Be brief.', provider: 'external' });
  await put('/api/agents/carl/memory/personality', 'Äußerst höflich.');
  await world.client.sendMessage('carl', { text: 'What now?' });
  const { json } = await call('GET', '/api/agents/carl/prompt');
  const texts = Object.fromEntries(json.sections.map((one: { name: string; text: string }) => [one.name, one.text]));
  expect(Object.keys(texts)).toEqual(['identity', 'instructions', 'memory', 'guidance', 'messages']);
  expect(texts.memory).toContain('### personality\nÄußerst höflich.');
  expect(texts.messages).toContain('What now?');
  const [identity] = json.sections;
  expect(identity.tokens).toBe(Math.ceil(Buffer.byteLength(identity.text) / 4));
  expect(json.tokens).toBe(json.sections.reduce((sum: number, one: { tokens: number }) => sum + one.tokens, 0));
});

test('people other than the owner see no memory, not even in events, and events contain no texts', async () => {
  const { token } = await world.client.createToken({ as: 'eve' });
  const { url } = await world.client.getStatus();
  const headers = { authorization: `Bearer ${token}` };
  for (const path of [
    '/api/agents/anna/memory',
    '/api/agents/anna/memory/mood',
    '/api/agents/anna/passages',
    '/api/agents/anna/prompt',
    '/api/memory',
  ]) {
    expect((await ask({ url: url as string }, path, { headers })).status).toBe(403);
  }
  await put('/api/agents/anna/memory/mood', 'SECRET mood');
  await call('POST', '/api/agents/anna/passages', { body: { content: 'SECRET passage' } });
  const events = await world.daemon.store.read((tx) => tx.events.listEvents({ after: 0, limit: 10_000 }));
  const types = new Set(events.map(({ type }) => type));
  for (const type of ['memory_updated', 'memory_deleted', 'memory_shared', 'passage_stored', 'passage_deleted']) {
    expect(types).toContain(type);
  }
  expect(JSON.stringify(events)).not.toContain('SECRET');
  expect(
    events.filter(({ type }) => /^(memory|passage)_/.test(type)).every(({ channelId }) => channelId === null),
  ).toBe(true);
});
