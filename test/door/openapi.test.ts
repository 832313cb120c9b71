import { rmSync } from 'node:fs';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startDaemon, type TestDaemon } from '../helpers/daemon.ts';
import { type Answer, ask } from '../helpers/http.ts';
import { type Operation, readOperations } from '../helpers/openapi.ts';
import { until } from '../helpers/until.ts';

let world: TestDaemon;
let operations: Operation[];
const ids = { agent: '', message: '', run: '', channel: '', token: '' };

beforeAll(async () => {
  world = await startDaemon({ config: '[limits]\nmax_children = 5000\nmax_agents = 5000' });
  const echo = world.program('echo', '({ messages }) => messages[0].text');
  const agent = await world.client.createAgent({ name: 'echo', program: echo });
  const { messageId } = await world.client.sendMessage('echo', { text: 'hello' });
  await until('the answer', () => world.client.awaitReply(messageId, 5));
  const { items } = await world.client.listRuns({ agent: 'echo' });
  const token = await world.client.createToken({ as: 'anna' });
  Object.assign(ids, {
    agent: agent.id,
    message: messageId,
    run: items[0]?.id,
    channel: 'dm-echo-user',
    token: token.id,
  });
  operations = readOperations((await ask(world, '/api/openapi.json')).json);
});

afterAll(() => world.stop());

const find = (method: string, path: string): Operation => {
  const operation = operations.find((one) => one.method === method && one.path === path);
  if (!operation) throw new Error(`${method} ${path} is not described`);
  return operation;
};

describe('the document', () => {
  test('is OpenAPI 3.1 and describes every route', () => {
    expect(operations.map(({ method, path }) => `${method} ${path}`).sort()).toEqual([
      'DELETE /api/agents/{id}',
      'DELETE /api/agents/{id}/memory/{label}',
      'DELETE /api/agents/{id}/passages/{passageId}',
      'DELETE /api/budgets/{id}',
      'DELETE /api/channels/{id}',
      'DELETE /api/channels/{id}/members/{participant}',
      'DELETE /api/memory/{label}',
      'DELETE /api/messages/{id}',
      'DELETE /api/messages/{id}/reactions/{emoji}',
      'DELETE /api/nodes/{id}',
      'DELETE /api/pairings/{id}',
      'DELETE /api/schedules/{name}',
      'DELETE /api/tokens/{id}',
      'DELETE /api/workspaces/{id}',
      'DELETE /api/workspaces/{id}/links',
      'GET /agents/list',
      'GET /api/agents',
      'GET /api/agents/{id}',
      'GET /api/agents/{id}/diff',
      'GET /api/agents/{id}/files',
      'GET /api/agents/{id}/files/raw',
      'GET /api/agents/{id}/mcp',
      'GET /api/agents/{id}/memory',
      'GET /api/agents/{id}/memory/{label}',
      'GET /api/agents/{id}/memory/{label}/history',
      'GET /api/agents/{id}/messages',
      'GET /api/agents/{id}/passages',
      'GET /api/agents/{id}/prompt',
      'GET /api/agents/{id}/said',
      'GET /api/agents/{id}/settings',
      'GET /api/budgets',
      'GET /api/channels',
      'GET /api/channels/{id}',
      'GET /api/channels/{id}/members',
      'GET /api/channels/{id}/messages',
      'GET /api/channels/{id}/queued',
      'GET /api/doctor',
      'GET /api/events',
      'GET /api/inbox',
      'GET /api/log',
      'GET /api/me',
      'GET /api/memory',
      'GET /api/memory/{label}',
      'GET /api/memory/{label}/history',
      'GET /api/messages',
      'GET /api/messages/{id}',
      'GET /api/messages/{id}/attachments/{position}',
      'GET /api/messages/{id}/reactions',
      'GET /api/messages/{id}/replies',
      'GET /api/nodes',
      'GET /api/nodes/{id}',
      'GET /api/pairings/{id}',
      'GET /api/participants',
      'GET /api/providers',
      'GET /api/questions',
      'GET /api/questions/{id}',
      'GET /api/report',
      'GET /api/requests',
      'GET /api/runs',
      'GET /api/runs/{id}',
      'GET /api/runs/{id}/carried',
      'GET /api/runs/{id}/sent',
      'GET /api/runs/{id}/trace',
      'GET /api/schedules',
      'GET /api/status',
      'GET /api/tokens',
      'GET /api/usage',
      'GET /api/workspaces',
      'GET /api/workspaces/{id}',
      'GET /health',
      'GET /prompts/list',
      'GET /tools/list',
      'GET /tools/sources',
      'PATCH /api/agents/{id}',
      'PATCH /api/channels/{id}',
      'PATCH /api/channels/{id}/members/{participant}',
      'PATCH /api/messages/{id}',
      'POST /agents/{name}/prompt',
      'POST /api/agents',
      'POST /api/agents/{id}/memory/{label}/restore',
      'POST /api/agents/{id}/messages',
      'POST /api/agents/{id}/move',
      'POST /api/agents/{id}/passages',
      'POST /api/agents/{id}/pause',
      'POST /api/agents/{id}/resume',
      'POST /api/agents/{id}/terminate',
      'POST /api/apply',
      'POST /api/channels',
      'POST /api/channels/{id}/members',
      'POST /api/channels/{id}/messages',
      'POST /api/channels/{id}/read',
      'POST /api/links',
      'POST /api/memory/{label}/restore',
      'POST /api/messages/{id}/reactions',
      'POST /api/nodes/{id}/adopt',
      'POST /api/nodes/{id}/drain',
      'POST /api/nodes/{id}/undrain',
      'POST /api/pairings',
      'POST /api/pairings/claim',
      'POST /api/pairings/redeem',
      'POST /api/pairings/{id}/confirm',
      'POST /api/questions/{id}/answer',
      'POST /api/questions/{id}/approve',
      'POST /api/questions/{id}/reject',
      'POST /api/runs/{id}/cancel',
      'POST /api/runs/{id}/extend',
      'POST /api/runs/{id}/restart',
      'POST /api/schedules',
      'POST /api/sign-in',
      'POST /api/sign-out',
      'POST /api/tokens',
      'POST /api/workspaces',
      'POST /api/workspaces/{id}/links',
      'POST /prompts/get',
      'POST /tools/get',
      'POST /tools/search',
      'POST /tools/{name}',
      'PUT /api/agents/{id}/memory/{label}',
      'PUT /api/agents/{id}/memory/{label}/sharing',
      'PUT /api/budgets',
      'PUT /api/memory/{label}',
      'PUT /api/memory/{label}/sharing',
    ]);
  });

  test('names every operation and its server, and has no schema that nothing satisfies', async () => {
    const { json } = await ask(world, '/api/openapi.json');
    const named = Object.values(json.paths as Record<string, Record<string, { operationId: string }>>).flatMap((item) =>
      Object.values(item).map(({ operationId }) => operationId),
    );
    expect(named).toHaveLength(operations.length);
    expect(new Set(named).size).toBe(named.length);
    expect(named).toEqual(expect.arrayContaining(['getAgents', 'getAgentsById', 'postToolsSearch', 'getHealth']));
    expect(named.every((id) => /^[a-z][A-Za-z0-9]*$/.test(id))).toBe(true);
    expect(json.servers).toEqual([{ url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$|^\/$/) }]);
    expect(json.paths['/health'].get.security).toEqual([]);
    // Two closed objects exclude each other's keys.
    expect(JSON.stringify(json.components.schemas)).not.toMatch(/"allOf"/);
    const made = await ask(world, '/api/tokens', { method: 'POST', body: { as: 'berta' } });
    expect(find('POST', '/api/tokens').fault(made.status, made.json)).toBeNull();
  });

  test.each([
    ['GET', '/health', '/health', 200],
    ['GET', '/tools/list', '/tools/list', 200],
    ['GET', '/tools/sources', '/tools/sources', 200],
    ['GET', '/agents/list', '/agents/list', 200],
    ['GET', '/prompts/list', '/prompts/list', 200],
    ['POST', '/agents/{name}/prompt', '/agents/nobody/prompt', 404],
    ['GET', '/api/status', '/api/status', 200],
    ['GET', '/api/questions', '/api/questions?open=false', 200],
    ['GET', '/api/questions/{id}', '/api/questions/none', 404],
    ['GET', '/api/agents', '/api/agents?limit=1', 200],
    ['GET', '/api/agents', '/api/agents?cursor=x', 400],
    ['GET', '/api/agents', '/api/agents?colour=red', 400],
    ['GET', '/api/agents/{id}', '/api/agents/echo', 200],
    ['GET', '/api/agents/{id}', '/api/agents/nobody', 404],
    ['GET', '/api/agents/{id}/mcp', '/api/agents/echo/mcp', 409],
    ['GET', '/api/agents/{id}/messages', '/api/agents/echo/messages', 200],
    ['GET', '/api/agents/{id}/prompt', '/api/agents/echo/prompt', 200],
    ['GET', '/api/agents/{id}/memory', '/api/agents/echo/memory', 200],
    ['GET', '/api/agents/{id}/memory', '/api/agents/nobody/memory', 404],
    ['GET', '/api/agents/{id}/memory/{label}', '/api/agents/echo/memory/none', 404],
    ['GET', '/api/agents/{id}/memory/{label}/history', '/api/agents/echo/memory/none/history', 404],
    ['GET', '/api/agents/{id}/passages', '/api/agents/echo/passages?q=%22C%2B%2B&tag=x&since=2026-01-31', 200],
    ['GET', '/api/agents/{id}/passages', '/api/agents/echo/passages?since=yesterday', 400],
    ['GET', '/api/agents/{id}/said', '/api/agents/echo/said?q=hello&limit=5&since=2026-01-31', 200],
    ['GET', '/api/agents/{id}/said', '/api/agents/echo/said', 400],
    ['DELETE', '/api/agents/{id}/passages/{passageId}', '/api/agents/echo/passages/x', 404],
    ['GET', '/api/me', '/api/me', 200],
    ['POST', '/api/sign-out', '/api/sign-out', 409],
    ['GET', '/api/memory', '/api/memory', 200],
    ['GET', '/api/memory/{label}', '/api/memory/none', 404],
    ['GET', '/api/memory/{label}', '/api/memory/%20', 400],
    ['GET', '/api/channels', '/api/channels', 200],
    ['GET', '/api/channels/{id}', '/api/channels/dm-echo-user', 200],
    ['GET', '/api/channels/{id}', '/api/channels/x', 404],
    ['GET', '/api/channels/{id}/members', '/api/channels/dm-echo-user/members', 200],
    ['GET', '/api/channels/{id}/messages', '/api/channels/dm-echo-user/messages', 200],
    ['GET', '/api/channels/{id}/queued', '/api/channels/dm-echo-user/queued', 200],
    ['GET', '/api/messages', '/api/messages?q=hello', 200],
    ['GET', '/api/messages', '/api/messages?q=hello&channel=x', 404],
    ['GET', '/api/messages', '/api/messages', 400],
    ['GET', '/api/runs/{id}/carried', '/api/runs/:run/carried', 200],
    ['GET', '/api/runs/{id}/carried', '/api/runs/x/carried', 404],
    ['GET', '/api/runs/{id}/sent', '/api/runs/:run/sent', 200],
    ['GET', '/api/runs/{id}/sent', '/api/runs/x/sent', 404],
    ['GET', '/api/runs/{id}/trace', '/api/runs/:run/trace', 200],
    ['GET', '/api/runs/{id}/trace', '/api/runs/x/trace', 404],
    ['GET', '/api/doctor', '/api/doctor', 200],
    ['GET', '/api/log', '/api/log?level=warn&q=x&limit=5', 200],
    ['GET', '/api/log', '/api/log?level=loud', 400],
    ['POST', '/api/pairings', '/api/pairings', 409],
    ['GET', '/api/pairings/{id}', '/api/pairings/x', 404],
    ['DELETE', '/api/pairings/{id}', '/api/pairings/x', 404],
    ['POST', '/api/pairings/{id}/confirm', '/api/pairings/x/confirm', 404],
    ['GET', '/api/inbox', '/api/inbox', 200],
    ['GET', '/api/inbox', '/api/inbox?open=true', 200],
    ['GET', '/api/messages/{id}', '/api/messages/:message', 200],
    ['GET', '/api/messages/{id}', '/api/messages/x', 404],
    ['GET', '/api/messages/{id}/attachments/{position}', '/api/messages/:message/attachments/0', 404],
    ['GET', '/api/messages/{id}/replies', '/api/messages/:message/replies', 200],
    ['GET', '/api/participants', '/api/participants', 200],
    ['GET', '/api/runs', '/api/runs?agent=echo&state=completed', 200],
    ['GET', '/api/runs/{id}', '/api/runs/:run', 200],
    ['GET', '/api/runs/{id}', '/api/runs/x', 404],
    ['POST', '/api/runs/{id}/cancel', '/api/runs/:run/cancel', 409],
    ['POST', '/api/runs/{id}/restart', '/api/runs/:run/restart', 409],
    ['POST', '/api/runs/{id}/restart', '/api/runs/x/restart', 404],
    ['POST', '/api/runs/{id}/extend', '/api/runs/:run/extend', 409],
    ['POST', '/api/runs/{id}/extend', '/api/runs/x/extend', 404],
    ['POST', '/api/runs/{id}/cancel', '/api/runs/x/cancel', 404],
    ['GET', '/api/report', '/api/report', 200],
    ['GET', '/api/report', '/api/report?since=2026-01-31', 200],
    ['GET', '/api/report', '/api/report?since=yesterday', 400],
    ['GET', '/api/schedules', '/api/schedules', 200],
    ['DELETE', '/api/schedules/{name}', '/api/schedules/x', 404],
    ['GET', '/api/tokens', '/api/tokens', 200],
    ['GET', '/api/usage', '/api/usage?by=day&since=2026-01-31', 200],
    ['GET', '/api/usage', '/api/usage?by=moon', 400],
    ['DELETE', '/api/tokens/{id}', '/api/tokens/x', 404],
    ['GET', '/api/workspaces', '/api/workspaces?limit=1', 200],
    ['GET', '/api/workspaces', '/api/workspaces?cursor=x', 400],
    ['GET', '/api/workspaces/{id}', '/api/workspaces/echo', 200],
    ['GET', '/api/workspaces/{id}', '/api/workspaces/nothing', 404],
    ['DELETE', '/api/workspaces/{id}', '/api/workspaces/echo', 409],
    ['DELETE', '/api/workspaces/{id}', '/api/workspaces/nothing', 404],
    ['DELETE', '/api/workspaces/{id}/links', '/api/workspaces/echo/links?target=x', 404],
    ['DELETE', '/api/workspaces/{id}/links', '/api/workspaces/echo/links', 400],
    ['DELETE', '/api/workspaces/{id}/links', '/api/workspaces/echo/links?target=../x', 400],
    ['GET', '/api/events', '/api/events?agent=nobody', 404],
    ['GET', '/api/events', '/api/events?after=x', 400],
  ])('%s %s: %s returns %i as documented', async (method, template, path, status) => {
    const answer = await ask(world, path.replace(':message', ids.message).replace(':run', ids.run), { method });
    expect(answer.status).toBe(status);
    expect(find(method, template).fault(answer.status, answer.json)).toBeNull();
  });

  test.each([
    ['/api/agents', { name: 'made', provider: 'external' }, 201],
    ['/api/agents', { name: 'made', provider: 'external' }, 409],
    ['/api/agents', { name: 'a/b', provider: 'external' }, 400],
    ['/api/agents', { name: 'x', provider: 'external', colour: 'red' }, 400],
    ['/api/agents', { name: 'x', provider: 'magic' }, 422],
    ['/api/agents', { name: 'x', provider: 'external', parent: 'nobody' }, 404],
    ['/api/channels', { id: 'hall', topic: 'Echoes', members: ['echo'] }, 201],
    ['/api/channels', { id: 'hall' }, 409],
    ['/api/channels', { id: 'dm-x-y' }, 400],
    ['/api/channels', { id: 'Hall!' }, 400],
    ['/api/channels', { id: 'x', members: ['nobody'] }, 404],
    ['/prompts/get', { name: 'nobody' }, 404],
    ['/prompts/get', { nam: 'nobody' }, 400],
    ['/api/links', {}, 201],
    ['/api/links', { as: 'echo' }, 409],
    ['/api/sign-in', { code: 'x' }, 401],
    ['/api/pairings/claim', { code: 'x' }, 401],
    ['/api/pairings/redeem', { claim: 'x' }, 401],
    ['/api/schedules', { name: 'nightly', cron: '0 3 * * *', to: 'echo', text: 'Good night' }, 201],
    ['/api/schedules', { name: 'Nightly', cron: '0 3 * * *', to: 'echo', text: 'Good night' }, 409],
    ['/api/schedules', { name: 'x', cron: '0 30 * * *', to: 'echo', text: 'Good night' }, 400],
    ['/api/schedules', { name: 'x', cron: '0 3 * * *', to: '#nowhere', text: 'Good night' }, 404],
    ['/api/tokens', { as: 'bert' }, 201],
    ['/api/tokens', { as: 'echo' }, 409],
    ['/api/workspaces', { name: 'room', network: ['api.example.com'] }, 201],
    ['/api/workspaces', { name: 'Room' }, 409],
    ['/api/workspaces', { name: 'a/b' }, 400],
    ['/api/workspaces', { name: 'x', network: ['http://a/b'] }, 400],
    ['/api/workspaces', { name: 'x', path: '/nothing/here' }, 404],
    ['/api/workspaces', { name: 'x', path: '/etc/passwd' }, 400],
    ['/api/workspaces', { name: 'x', path: '/' }, 403],
    ['/api/workspaces', { name: 'look', viewOf: 'room' }, 201],
    ['/api/workspaces', { name: 'x', viewOf: 'look', mode: 'rw' }, 403],
    ['/api/workspaces', { name: 'x', viewOf: 'nothing' }, 404],
    ['/api/agents', { name: 'x', provider: 'external', workspace: 'nothing' }, 404],
    ['/api/agents', { name: 'x', provider: 'external', workspace: '/', worktree: false }, 403],
    ['/api/agents', { name: 'x', provider: 'external', worktree: true }, 400],
    ['/tools/search', { query: 'C++ "x', explain: true }, 200],
    ['/tools/search', { query: '' }, 400],
    ['/tools/search', { query: 'x', mode: 'semantic' }, 400],
    ['/tools/get', { id: 'nothing' }, 404],
  ])('POST %s with %j returns %i as documented', async (path, body, status) => {
    const answer = await ask(world, path, { method: 'POST', body });
    expect(answer.status).toBe(status);
    expect(find('POST', path).fault(answer.status, answer.json)).toBeNull();
  });

  test('a directory can be linked and unlinked, and a workspace deleted, as documented', async () => {
    const at = (method: string, path: string, body?: unknown) => ask(world, path, { method, body });
    const links = '/api/workspaces/hall/links';
    const wish = { source: world.directory, target: 'docs' };
    expect((await at('POST', '/api/workspaces', { name: 'hall' })).status).toBe(201);
    const answers: [Operation, Answer][] = [
      [find('POST', '/api/workspaces/{id}/links'), await at('POST', links, { ...wish, source: '/etc' })],
      [find('POST', '/api/workspaces/{id}/links'), await at('POST', links, { ...wish, source: '/etc' })],
      [find('POST', '/api/workspaces/{id}/links'), await at('POST', links, wish)],
      [find('POST', '/api/workspaces/{id}/links'), await at('POST', links, { ...wish, source: 'here' })],
      [find('POST', '/api/workspaces/{id}/links'), await at('POST', links, { ...wish, source: '/nothing/here' })],
      [find('GET', '/api/workspaces/{id}'), await at('GET', '/api/workspaces/hall')],
      [find('DELETE', '/api/workspaces/{id}/links'), await at('DELETE', `${links}?target=docs`)],
      [find('DELETE', '/api/workspaces/{id}'), await at('DELETE', '/api/workspaces/hall')],
    ];
    // The test's directory contains the home.
    expect(answers.map(([, answer]) => answer.status)).toEqual([201, 409, 403, 400, 404, 200, 200, 200]);
    for (const [operation, answer] of answers) expect(operation.fault(answer.status, answer.json)).toBeNull();
    expect(answers[5]?.[1].json.links).toEqual([{ target: 'docs', source: '/etc', mode: 'ro', inForce: false }]);
  });

  test('an external agent can be joined, written to and terminated, as documented', async () => {
    const post = (path: string, body?: unknown) => ask(world, path, { method: 'POST', body });
    await post('/api/agents', { name: 'guest', provider: 'external' });
    const answers: [Operation, Answer][] = [
      [find('GET', '/api/agents/{id}/mcp'), await ask(world, '/api/agents/guest/mcp')],
      [find('POST', '/api/agents/{id}/messages'), await post('/api/agents/guest/messages', { text: 'hi' })],
      [find('POST', '/api/agents/{id}/terminate'), await post('/api/agents/guest/terminate')],
      [find('POST', '/api/agents/{id}/terminate'), await post('/api/agents/guest/terminate')],
    ];
    expect(answers.map(([, answer]) => answer.status)).toEqual([200, 201, 200, 409]);
    for (const [operation, answer] of answers) expect(operation.fault(answer.status, answer.json)).toBeNull();
  });
});

describe('any request', () => {
  test('gets a documented response, whatever it contains', { timeout: 180_000 }, async () => {
    const known = () =>
      fc.constantFrom(...Object.values(ids), 'echo', 'nobody', 'made', 'room', 'look', 'hall', 'user');
    const word = fc.oneof(known(), fc.string({ maxLength: 30 }), fc.string({ unit: 'grapheme', maxLength: 10 }));
    const value = fc.oneof(word, fc.constant('true'), fc.nat(600).map(String), fc.constant(''));
    const json = fc.oneof(
      fc.jsonValue(),
      fc.record(
        {
          name: word,
          text: word,
          as: word,
          provider: fc.constantFrom('external', 'scripted', 'x'),
          parent: word,
          inReplyTo: word,
          viewOf: word,
          subdir: word,
          source: fc.oneof(word, fc.constant('/etc')),
          target: word,
          workspace: word,
          content: word,
          version: fc.nat(3),
          query: word,
          with: fc.array(word, { maxLength: 2 }),
          id: word,
          members: fc.array(word, { maxLength: 2 }),
          kind: fc.constantFrom('public', 'private', 'dm'),
          topic: word,
          participant: word,
          wake: fc.constantFrom('all', 'none', 'x'),
          parentMessageId: word,
          emoji: fc.constantFrom('👍', ':x:', 'x', ''),
        },
        { requiredKeys: [] },
      ),
    );
    const request = fc.record({
      operation: fc.constantFrom(...operations.filter(({ path }) => path !== '/api/events' && path !== '/api/doctor')),
      id: word,
      query: fc.dictionary(
        fc.constantFrom('cursor', 'limit', 'all', 'open', 'agent', 'state', 'colour', 'target', 'q', 'tag', 'since'),
        value,
        {
          maxKeys: 3,
        },
      ),
      body: json,
      key: fc.option(
        fc.string({ maxLength: 20 }).map((text) => text.replace(/[^\x21-\x7e]/g, '')),
        { nil: undefined },
      ),
      broken: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(request, async ({ operation, id, query, body, key, broken }) => {
        const search = new URLSearchParams(query).toString();
        const path = `${operation.path.replace(/\{\w+\}/g, () => (/^\.{0,2}$/.test(id) ? 'x' : encodeURIComponent(id)))}${search ? `?${search}` : ''}`;
        const raw = operation.body ? (broken ? '{"text":' : JSON.stringify(body)) : undefined;
        const headers = { 'content-type': 'application/json', ...(key !== undefined && { 'idempotency-key': key }) };
        const answer = await ask(world, path, { method: operation.method, headers, ...(raw !== undefined && { raw }) });
        expect([path, operation.fault(answer.status, answer.json), answer.text.slice(0, 300)]).toEqual([
          path,
          null,
          answer.text.slice(0, 300),
        ]);
        expect(answer.status).toBeLessThan(500);
      }),
      { numRuns: 3000 },
    );
    expect((await ask(world, '/health')).status).toBe(200);
    expect(world.log()).not.toContain('a request failed');
  });
});

describe('an Idempotency-Key', () => {
  beforeAll(() => world.client.createAgent({ name: 'keyed', provider: 'external' }));

  const send = (key: string, text: string) =>
    ask(world, '/api/agents/keyed/messages', { method: 'POST', body: { text }, headers: { 'idempotency-key': key } });

  test('makes a repeated post idempotent', async () => {
    const [first, second] = await Promise.all([send('k1', 'once'), send('k1', 'once')]);
    expect(first.status).toBe(201);
    expect(second.json).toEqual(first.json);
    const { items } = await world.client.listMessages('keyed');
    expect(items.filter((message) => message.text === 'once')).toHaveLength(1);
  });

  test('with other arguments is an error without effect', async () => {
    await send('k2', 'this');
    const other = await send('k2', 'that');
    expect(other.status).toBe(409);
    const { items } = await world.client.listMessages('keyed');
    expect(items.filter((message) => message.text === 'that')).toHaveLength(0);
  });

  test('creates one agent for two posts', async () => {
    const make = () =>
      ask(world, '/api/agents', {
        method: 'POST',
        body: { name: 'only', provider: 'external' },
        headers: { 'idempotency-key': 'k3' },
      });
    const [first, second] = [await make(), await make()];
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(second.json.id).toBe(first.json.id);
  });

  test('of a refused post can be reused', async () => {
    expect((await send('k4', ' ')).status).toBe(400);
    expect((await send('k4', 'fine')).status).toBe(201);
  });
});

// Last, because it leaves an error in the log.
test('a body that is too large, and an internal error, get documented responses', async () => {
  const text = 'x'.repeat(9_000_000);
  const large = await ask(world, '/api/agents/echo/messages', { method: 'POST', body: { text } });
  expect([large.status, large.json.error.code]).toEqual([413, 'too_large']);
  expect(find('POST', '/api/agents/{id}/messages').fault(large.status, large.json)).toBeNull();

  const { id } = await world.client.createAgent({ name: 'torn', provider: 'external' });
  rmSync(world.daemon.home.mcpConfig(id));
  const fault = await ask(world, `/api/agents/${id}/mcp`);
  expect([fault.status, fault.json.error.code]).toEqual([500, 'internal']);
  expect(fault.text).not.toContain(world.home);
  expect(find('GET', '/api/agents/{id}/mcp').fault(fault.status, fault.json)).toBeNull();
  expect(world.log()).toContain('ENOENT');
});
