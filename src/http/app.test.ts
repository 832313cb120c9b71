import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startDaemon, storeRows, type TestDaemon } from '../../test/helpers/daemon.ts';
import { watchLiveBytes } from '../../test/helpers/live-bytes.ts';
import { connectSocket } from '../../test/helpers/mcp.ts';
import { createDatabase, describeOnPostgres } from '../../test/helpers/postgres.ts';
import { callRest, type RestCall } from '../../test/helpers/rest.ts';

let daemon: TestDaemon;

beforeAll(async () => {
  daemon = await startDaemon({
    members: { lead: {}, worker: { parent: 'lead' }, second: {}, third: {}, twin: { parent: 'lead' } },
  });
  for (const parent of ['second', 'third']) await daemon.client.createAgent({ name: 'twin', parent });
  // The handle of a living agent would win.
  await daemon.client.terminateAgent('lead/twin');
});

afterAll(() => daemon.stop());

const call = (rest: RestCall) => callRest(daemon.home, rest);

/** Expects an error of ours, an unchanged store, and a daemon that still serves. */
async function refused(rest: RestCall, status: number, code: string): Promise<string> {
  const before = await storeRows(daemon.home);
  const answer = await call(rest);
  expect(answer).toMatchObject({ status, body: { error: { code, message: expect.stringMatching(/\S/) } } });
  expect(answer.body.error?.message.length).toBeLessThan(1_500);
  expect(await storeRows(daemon.home)).toEqual(before);
  expect((await call({ path: '/health' })).body).toMatchObject({ status: 'ok', name: 'daemon' });
  expect(daemon.log()).not.toMatch(/"level":50/);
  return answer.body.error?.message ?? '';
}

const bodies: readonly (readonly [string, string | Uint8Array])[] = [
  ['empty', ''],
  ['no JSON', '{"name":'],
  ['bytes that are not text', Uint8Array.of(0xff, 0xfe)],
  ['null', 'null'],
  ['a list', '[]'],
  ['a text', '"lead"'],
  ['nested too deep', `${'['.repeat(100_000)}${']'.repeat(100_000)}`],
  ['no fields', '{}'],
  ['an object of 10,001 keys', `{${Array.from({ length: 10_001 }, (_, i) => `"k${i}":1`).join(',')}}`],
];

describe('POST /api/agents', () => {
  const post = (body: RestCall['body']): RestCall => ({ method: 'POST', path: '/api/agents', body: body ?? '' });

  test.each(bodies)('refuses a body that is %s', async (_, body) => {
    await refused(post(body), 400, 'bad_request');
  });

  const name = 'new';
  const provider = 'external';
  test.each<readonly [string, object, number, string]>([
    ['an unknown field', { name, provider, colour: 'red' }, 400, 'bad_request'],
    ['a name that is a number', { name: 5, provider }, 400, 'bad_request'],
    ['an empty name', { name: '', provider }, 400, 'bad_request'],
    ['a name with a slash', { name: 'a/b', provider }, 400, 'bad_request'],
    ['a name with a dot', { name: 'a.b', provider }, 400, 'bad_request'],
    ['a name of emoji', { name: '😀', provider }, 400, 'bad_request'],
    ['a name of 10,000 characters', { name: 'n'.repeat(10_000), provider }, 400, 'bad_request'],
    ['a reserved name', { name: 'User', provider }, 400, 'bad_request'],
    ['a name that is taken', { name: 'LEAD', provider }, 409, 'name_taken'],
    ['no provider', { name }, 400, 'bad_request'],
    ['an unknown provider', { name, provider: 'oracle' }, 422, 'unsupported'],
    ['a provider with NUL', { name, provider: 'x\0' }, 400, 'bad_request'],
    ['a program that does not exist', { name, program: '/nowhere/agent.ts' }, 400, 'bad_request'],
    ['a program with NUL', { name, program: '/bin/sh\0' }, 400, 'bad_request'],
    ['an unknown parent', { name, provider, parent: 'nobody' }, 404, 'not_found'],
    ['an ambiguous parent', { name, provider, parent: 'twin' }, 409, 'conflict'],
    ['a parent that is a person', { name, provider, parent: 'user' }, 404, 'not_found'],
    ['an unknown tool', { name, provider, tools: ['fly'] }, 400, 'bad_request'],
    [
      '100,000 unknown tools',
      { name, provider, tools: Array.from({ length: 100_000 }, (_, i) => `t${i}`) },
      400,
      'bad_request',
    ],
    ['tools that are not a list', { name, provider, tools: 'list_agents' }, 400, 'bad_request'],
    ['instructions of 5 MB', { name, provider, instructions: 'x'.repeat(5_000_000) }, 400, 'bad_request'],
    ['instructions with NUL', { name, provider, instructions: 'x\0' }, 400, 'bad_request'],
    ['a workspace that is relative', { name, provider, workspace: './here' }, 400, 'bad_request'],
    ['a workspace that does not exist', { name, provider, workspace: 'here' }, 404, 'not_found'],
    ['a workspace with NUL', { name, provider, workspace: '/tmp/\0' }, 400, 'bad_request'],
    ['a workspace that cannot be', { name, provider, workspace: '/dev/null/x' }, 400, 'bad_request'],
    ['a field of 100,000 characters', { name, provider, ['f'.repeat(100_000)]: 1 }, 400, 'bad_request'],
  ])('refuses %s', async (_, body, status, code) => {
    await refused(post(body), status, code);
  });

  test('creates no directory for an agent that it refuses', async () => {
    const workspace = join(daemon.directory, 'a/b');
    await refused(post({ name: 'lead', provider, workspace }), 409, 'name_taken');
    expect(existsSync(join(daemon.directory, 'a'))).toBe(false);
    expect((await call(post({ name: 'placed', provider, workspace }))).status).toBe(201);
    expect(existsSync(workspace)).toBe(true);
  });
});

describe('POST /api/agents/{ref}/messages', () => {
  const post = (body: RestCall['body'], ref = 'lead'): RestCall => ({
    method: 'POST',
    path: `/api/agents/${ref}/messages`,
    body: body ?? '',
  });

  test.each(bodies)('refuses a body that is %s', async (_, body) => {
    await refused(post(body), 400, 'bad_request');
  });

  test.each<readonly [string, object, number, string]>([
    ['an empty text', { text: '' }, 400, 'bad_request'],
    ['a text of blanks', { text: ' \n\u2028' }, 400, 'bad_request'],
    ['a text with NUL', { text: 'x\0' }, 400, 'bad_request'],
    ['a text of 5 MB', { text: 'x'.repeat(5_000_000) }, 400, 'bad_request'],
    ['a text that is a number', { text: 5 }, 400, 'bad_request'],
    ['a sender', { text: 'x', from: 'boss' }, 400, 'bad_request'],
    ['an answer to nothing', { text: 'x', inReplyTo: randomUUID() }, 404, 'not_found'],
    ['an answer to NUL', { text: 'x', inReplyTo: '\0' }, 400, 'bad_request'],
  ])('refuses %s', async (_, body, status, code) => {
    await refused(post(body), status, code);
  });

  test.each([
    ['keys', bodies.at(-1)?.[1], 'JSON may have at most 10000 keys and elements.'],
    ['depth', `{"text":${'['.repeat(64)}${']'.repeat(64)}}`, 'JSON may be nested at most 64 deep.'],
    ['missing', '{}', 'text: expected string, received undefined.'],
    [
      'two',
      '{"text":5,"inReplyTo":5}',
      'text: expected string, received number; inReplyTo: expected string, received number.',
    ],
  ])('describes the problem in a plain sentence (%s)', async (_, body, message) => {
    expect(await refused(post(body), 400, 'bad_request')).toBe(message);
  });

  test('accepts a text of 900 kB', async () => {
    const answer = await call(post({ text: 'x'.repeat(900_000) }));
    expect(answer).toMatchObject({ status: 201, body: { messageId: expect.any(String) } });
  });

  test('a page of long texts has fewer items, and the next pages have the rest', async () => {
    const agent = await daemon.client.createAgent({ name: `talker-${randomUUID().slice(0, 8)}`, provider: 'external' });
    const marks = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
    for (const mark of marks) {
      await call(post({ text: mark.repeat(mark < 'd' ? 10 : 400_000) }, agent.id));
    }
    const pages: string[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const path = `/api/agents/${agent.id}/messages?limit=4${cursor && `&cursor=${cursor}`}`;
      const { items, nextCursor } = (await call({ path })).body as { items: { text: string }[]; nextCursor: string };
      pages.push(items.map(({ text }) => text[0]).join(''));
      cursor = nextCursor;
    }
    expect(pages).toEqual(['gf', 'edcb', 'a']);
  });

  test('refuses a body of 100 MB by its declared length', async () => {
    const rest = { ...post('{"text":"x"}'), headers: { 'content-length': '100000000' } };
    const before = await storeRows(daemon.home);
    expect(await call(rest)).toMatchObject({ status: 413, body: { error: { code: 'too_large' } } });
    expect(await storeRows(daemon.home)).toEqual(before);
  });

  test('refuses a body of 100 MB without a declared length, without buffering it', async () => {
    const chunk = Buffer.alloc(1_000_000, 'x');
    const peak = watchLiveBytes();
    const answer = await call(post(Array.from({ length: 100 }, () => chunk).values())).catch(
      (error: NodeJS.ErrnoException) => error.code,
    );
    expect(['EPIPE', 'ECONNRESET', 413]).toContain(typeof answer === 'object' ? answer.status : answer);
    expect(peak()).toBeLessThan(60_000_000);
    expect((await call({ path: '/health' })).status).toBe(200);
  });
});

describe('references, ids and cursors', () => {
  const odd = [
    'nobody',
    '%2e%2e%2f',
    '..%2Flead',
    'lead%2Fnobody',
    '%F0%9F%98%80',
    '%ff',
    '%',
    '%zz',
    '%25',
    '%0a',
    'x'.repeat(10_000),
  ];
  const oddRefs = [...odd, "'%20or%201=1", randomUUID()];

  test.each(oddRefs.map((ref) => [ref.slice(0, 20), ref]))('%s is not found', async (_, ref) => {
    for (const path of [
      `/api/agents/${ref}`,
      `/api/agents/${ref}/mcp`,
      `/api/messages/${ref}/replies`,
      `/api/runs/${ref}`,
    ]) {
      await refused({ path }, 404, 'not_found');
    }
    for (const path of [`/api/agents/${ref}/terminate`, `/api/runs/${ref}/cancel`]) {
      await refused({ method: 'POST', path }, 404, 'not_found');
    }
    await refused({ method: 'POST', path: `/api/agents/${ref}/messages`, body: { text: 'x' } }, 404, 'not_found');
  });

  test('NUL is refused everywhere', async () => {
    for (const path of ['/api/agents/%00', '/api/agents/lead%00', '/api/runs/%00', '/api/agents?cursor=%00', '/%00']) {
      await refused({ path }, 400, 'bad_request');
    }
  });

  test.each([
    'cursor=x',
    'cursor=',
    `cursor=${Buffer.from('5').toString('base64url')}`,
    `cursor=${Buffer.from('x y').toString('base64url')}`,
    `cursor=${Buffer.from('5 \0').toString('base64url')}`,
    `cursor=${Buffer.from(`1e300 ${randomUUID()}`).toString('base64url')}`,
    `cursor=${Buffer.from(`99999999999999999999 ${randomUUID()}`).toString('base64url')}`,
    'limit=0',
    'limit=-1',
    'limit=501',
    'limit=1.5',
    'limit=x',
    'limit=Infinity',
    'all=yes',
    'colour=red',
  ])('a list with %s is refused', async (query) => {
    await refused({ path: `/api/agents?${query}` }, 400, 'bad_request');
  });

  test.each(['wait=-1', 'wait=61', 'wait=x', 'wait=NaN', 'colour=red'])(
    'replies with %s are refused',
    async (query) => {
      const { messageId } = await daemon.client.sendMessage('worker', { text: 'x' });
      await refused({ path: `/api/messages/${messageId}/replies?${query}` }, 400, 'bad_request');
    },
  );

  test('what cannot be done now is a conflict', async () => {
    const { id } = await daemon.client.createAgent({ name: 'brief', provider: 'external' });
    await daemon.client.terminateAgent(id);
    await refused({ method: 'POST', path: `/api/agents/${id}/terminate` }, 409, 'conflict');
    await refused({ method: 'POST', path: `/api/agents/${id}/messages`, body: { text: 'x' } }, 410, 'terminated');
    await refused({ method: 'POST', path: '/api/agents', body: { name: 'late', parent: id } }, 410, 'terminated');
  });

  test('pagination ends and lists each agent once', async () => {
    const seen: string[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page: Awaited<ReturnType<typeof daemon.client.listAgents>> = await daemon.client.listAgents({
        limit: 2,
        ...(cursor && { cursor }),
        all: true,
      });
      seen.push(...page.items.map(({ id }) => id));
      cursor = page.nextCursor;
    }
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen).toHaveLength(((await storeRows(daemon.home)).agents ?? []).length);
  });
});

describe('unknown routes', () => {
  test.each([
    ['GET', '/api'],
    ['GET', '/api/agents/lead/nothing'],
    ['GET', '/../../etc/passwd'],
    ['GET', '//api//agents'],
    ['GET', `/${'x'.repeat(5_000)}`],
  ])('%s %.30s is not found', async (method, path) => {
    await refused({ method, path }, 404, 'not_found');
  });

  test.each([
    ['PUT', '/api/agents/lead', 'HEAD, GET, PATCH, DELETE'],
    ['PUT', '/api/agents', 'HEAD, GET, POST'],
    ['PATCH', '/health', 'HEAD, GET'],
    ['OPTIONS', '/api/agents', 'HEAD, GET, POST'],
  ])('%s %s is the wrong method', async (method, path, allowed) => {
    expect(await refused({ method, path }, 405, 'method_not_allowed')).toContain(`It takes ${allowed}.`);
  });

  test('a GET changes nothing', async () => {
    const before = await storeRows(daemon.home);
    for (const path of ['/api/agents', '/api/agents/lead', '/api/agents/lead/mcp', '/api/status', '/health']) {
      expect((await call({ path })).status).toBe(200);
    }
    expect(await storeRows(daemon.home)).toEqual(before);
  });

  test.each([
    ['no HTTP', 'hello\r\n\r\n'],
    ['MCP', '{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n'],
    ['a header without end', `GET / HTTP/1.1\r\nx: ${'y'.repeat(200_000)}`],
    ['two lengths', 'POST /api/agents HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}'],
    ['a negative length', 'POST /api/agents HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n{}'],
    ['no host', 'GET /health HTTP/1.1\r\n\r\n'],
  ])('%s on the socket is refused and the connection closed', async (_, bytes) => {
    const raw = await connectSocket(join(daemon.home, 'daemon.sock'));
    await raw.send(bytes);
    expect(await raw.line()).toMatch(/^HTTP\/1.1 4\d\d /);
    await raw.closed;
    expect((await call({ path: '/health' })).status).toBe(200);
  });

  test('a client that disconnects while waiting or while sending its body has no effect', async () => {
    const { messageId } = await daemon.client.sendMessage('worker', { text: 'x' });
    const before = await storeRows(daemon.home);
    for (const bytes of [
      `GET /api/messages/${messageId}/replies?wait=60 HTTP/1.1\r\nhost: x\r\n\r\n`,
      'POST /api/agents/lead/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 500\r\n\r\n{"text":"ha',
      'POST /api/agents/lead/messages HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{"tex\r\n',
    ]) {
      const raw = await connectSocket(join(daemon.home, 'daemon.sock'));
      await raw.send(bytes);
      raw.close();
    }
    expect((await call({ path: '/health' })).status).toBe(200);
    expect(await storeRows(daemon.home)).toEqual(before);
    expect(daemon.log()).not.toMatch(/"level":50/);
  });
});

describe('any call', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('lead', 'worker', '\0', '', '\ud800', 'x'.repeat(5_000)),
  );
  const value = fc.oneof(text, fc.jsonValue());
  // No workspace: the fuzzer could create directories anywhere.
  const fields = ['name', 'parent', 'role', 'instructions', 'provider', 'model', 'program', 'tools', 'x'];
  const creation = fc.dictionary(fc.constantFrom(...fields), value);
  const message = fc.dictionary(fc.constantFrom('text', 'inReplyTo', 'x'), value);
  const segment = text.map((one) => encodeURIComponent(one.toWellFormed()));
  const rest: fc.Arbitrary<RestCall> = fc.oneof(
    fc.oneof(creation, value).map((body) => ({ method: 'POST', path: '/api/agents', body: JSON.stringify(body) })),
    fc
      .tuple(segment, fc.oneof(message, value))
      .map(([ref, body]) => ({ method: 'POST', path: `/api/agents/${ref}/messages`, body: JSON.stringify(body) })),
    segment.map((cursor) => ({ path: `/api/agents?cursor=${cursor}` })),
    fc
      .tuple(fc.constantFrom('agents', 'runs', 'messages'), segment, fc.constantFrom('', '/replies', '/mcp'))
      .map(([noun, id, end]) => ({ path: `/api/${noun}/${id}${end}` })),
  );

  async function neverFails(home: string, log: () => string, numRuns: number): Promise<void> {
    await fc.assert(
      fc.asyncProperty(rest, async (one) => {
        const { status, body } = await callRest(home, one);
        expect(status).toBeLessThan(500);
        if (status >= 400)
          expect(body).toEqual({ error: { code: expect.any(String), message: expect.stringMatching(/\S/) } });
      }),
      { numRuns },
    );
    expect(log()).not.toMatch(/"level":50/);
  }

  test('succeeds or is refused, and never causes an internal error', () => neverFails(daemon.home, daemon.log, 300));

  describeOnPostgres('on PostgreSQL', () => {
    test('succeeds or is refused as well', async () => {
      const database = await createDatabase();
      const other = await startDaemon({
        database: database.url,
        members: { lead: {} },
      });
      try {
        await neverFails(other.home, other.log, 100);
      } finally {
        await other.stop();
        await database.drop();
      }
    });
  });
});
