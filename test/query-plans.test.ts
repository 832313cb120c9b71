import { afterAll, beforeAll, expect, test } from 'vitest';
import { expandScope } from '../src/core/scope.ts';
import { toolsInScope } from '../src/tools/catalog.ts';
import { startDaemon, type TestDaemon } from './helpers/daemon.ts';
import { type Answer, ask } from './helpers/http.ts';
import { type ConnectedAgent, connectAgent } from './helpers/mcp.ts';
import { readOperations } from './helpers/openapi.ts';
import { longSteps, noteStatements } from './helpers/query-plans.ts';
import { until } from './helpers/until.ts';

/** They need another node, a stream, a page, a sandbox, a document or a failed run, and read nothing that the others do not. */
const NOT_CALLED = [
  ...['DELETE /api/nodes/{id}', 'POST /api/agents/{id}/move', 'POST /api/nodes/{id}/adopt', 'GET /api/events'],
  ...['POST /api/sign-in', 'POST /api/sign-out', 'POST /agents/{name}/prompt', 'POST /prompts/get'],
  ...['GET /api/messages/{id}/attachments/{position}', 'POST /tools/get', 'POST /tools/{name}', 'get'],
  ...['link_dir', 'unlink_dir', 'POST /api/questions/{id}/approve', 'POST /api/questions/{id}/reject'],
  ...['GET /api/agents/{id}/diff', 'GET /api/agents/{id}/files/raw', 'poke', 'POST /api/pairings'],
  ...['GET /api/pairings/{id}', 'DELETE /api/pairings/{id}', 'POST /api/pairings/{id}/confirm'],
  ...['POST /api/pairings/claim', 'POST /api/pairings/redeem'],
  ...['POST /api/runs/{id}/extend', 'POST /api/runs/{id}/restart', 'GET /api/doctor'],
];

/** What may look at more than it returns, and why that is not linear in the history, or rare. */
const JUSTIFIED: readonly (readonly [RegExp, string])[] = [
  [/"id" like \? order by "id" desc limit 10$/, 'only for the end of an id, which a person typed'],
  [
    /^select "runs"\.\*, "agents"\."handle" (?!.* where ).*order by "runs"\."seq" desc/,
    'a page in the order of an index',
  ],
  [/"runs"\."state" = 'completed' order by "runs"\."seq" desc/, 'a page in the order of an index; most runs complete'],
  [
    /^select "agents"\.\*, (?!.*"terminated_at" is null).* order by "agents"\."created_at", "agents"\."id" limit/,
    'the same',
  ],
  ...[
    /^select distinct "channels"\."id" from "channels" left join "members"/,
    /^select "messages"\."id" from "messages" left join "requests"/,
    /^delete from "(deliveries|agents|trees|participants)" where "(agent_)?id" in \(select value from json_each/,
  ].map((form): readonly [RegExp, string] => [form, 'only when the owner deletes an agent that has ended']),
];

/** Those that an agent has if nothing is said, and those that it must be given. */
const TOOLS = [...toolsInScope(null).map(({ name }) => name), ...expandScope(['control'])];

const noted = noteStatements();
let world: TestDaemon;
let lead: ConnectedAgent;
const called = new Set<string>();
const refused: string[] = [];

beforeAll(async () => {
  world = await startDaemon({
    members: { boss: { tools: TOOLS }, lead: { parent: 'boss', tools: TOOLS }, guest: { parent: 'boss' } },
  });
});

afterAll(async () => {
  await lead?.close();
  await world?.stop();
  noted.stop();
});

/** Calls a route such as `GET /api/agents/{id}`, with what its path and query contain. */
async function route(name: string, values: Record<string, string> = {}, body?: unknown): Promise<Answer['json']> {
  called.add(name);
  const [method = '', template = ''] = name.split(' ');
  const rest = new URLSearchParams(Object.entries(values).filter(([key]) => !template.includes(`{${key}}`)));
  const path = template.replaceAll(/\{(\w+)\}/g, (_, key: string) => encodeURIComponent(values[key] ?? ''));
  const answer = await ask(world, `${path}?${rest}`, { method, ...(body !== undefined && { body }) });
  if (answer.status >= 400) refused.push(`${name}: ${answer.status} ${answer.text}`);
  return answer.json;
}

async function tool(name: string, args: Record<string, unknown> = {}): Promise<Record<string, unknown>> {
  called.add(name);
  const { value, isError } = await lead.call(name, args);
  if (isError) refused.push(`${name}: ${JSON.stringify(value)}`);
  return value;
}

test('no route and no tool reads a table that grows from end to end', { timeout: 60_000 }, async () => {
  await callRoutes();
  await callTools();
  expect(refused).toEqual([]);
  const operations = readOperations((await ask(world, '/api/openapi.json')).json);
  const routes = operations.map(({ method, path }) => `${method} ${path}`);
  expect([...routes, ...TOOLS].filter((name) => !called.has(name)).sort()).toEqual(NOT_CALLED.toSorted());
  expect(noted.statements.size).toBeGreaterThan(200);
  const steps = (await longSteps(noted.statements)).filter(({ sql }) => !JUSTIFIED.some(([form]) => form.test(sql)));
  expect(steps).toEqual([]);
});

test('no statement is planned again each time its limit is bound', () => {
  // Sums of usage take longer than their planning.
  const limited = [...noted.statements].filter((sql) => /\blimit \?/.test(sql) && !sql.includes('usage_totals'));
  expect(limited.length).toBeGreaterThan(10);
  expect(limited.filter((sql) => !/\blimit \? \+ 0/.test(sql))).toEqual([]);
});

async function callRoutes(): Promise<void> {
  const echo = world.program('echo', '({ messages }) => messages[0].text');
  await route('POST /api/agents', {}, { name: 'echo', program: echo });
  const { messageId } = await route('POST /api/agents/{id}/messages', { id: 'echo' }, { text: 'hello' });
  await until('the answer', () => world.client.awaitReply(messageId, 5));
  const run = (await route('GET /api/runs', { agent: 'echo' })).items[0].id as string;
  for (const state of ['created', 'running', 'completed', 'failed', 'cancelled']) {
    await route('GET /api/runs', { state });
    await route('GET /api/runs', { state, agent: 'echo' });
  }
  for (const path of ['/health', '/tools/list', '/tools/sources', '/agents/list', '/prompts/list'])
    await route(`GET ${path}`);
  const plain = ['status', 'agents', 'channels', 'inbox', 'log', 'me', 'memory', 'nodes', 'participants', 'providers'];
  for (const name of [...plain, 'questions', 'report', 'requests', 'runs', 'schedules', 'tokens', 'workspaces'])
    await route(`GET /api/${name}`);
  await route('GET /api/agents', { all: 'true' });
  await route('GET /api/inbox', { open: 'true' });
  await route('GET /api/questions', { open: 'false' });
  for (const by of ['agent', 'tree', 'day']) {
    const budget = await route('PUT /api/budgets', {}, { of: 'boss', unit: 'runs', amount: 1_000 });
    await route('GET /api/budgets');
    await route('DELETE /api/budgets/{id}', { id: String(budget.id) });
    await route('GET /api/usage', { by });
    await route('GET /api/usage', { by, since: '2026-01-02', until: '2026-03-04T05:06:07Z' });
  }
  for (const id of ['echo', world.agent('guest').id.slice(-8)]) await route('GET /api/agents/{id}', { id });
  await route('GET /api/agents/{id}/mcp', { id: 'guest' });
  for (const part of ['files', 'memory', 'messages', 'passages', 'prompt', 'settings'])
    await route(`GET /api/agents/{id}/${part}`, { id: 'echo' });
  await route('GET /api/agents/{id}/passages', { id: 'echo', q: 'some words', tag: 'x', since: '2026-01-02' });
  await route('GET /api/agents/{id}/passages', { id: 'echo', tag: 'x' });
  await route('GET /api/agents/{id}/said', { id: 'echo', q: 'hello' });
  await callChannels(messageId);
  await callMemory();
  await route('GET /api/runs/{id}', { id: run.slice(-8) });
  for (const part of ['carried', 'sent', 'trace']) await route(`GET /api/runs/{id}/${part}`, { id: run.slice(-8) });
  await route('GET /api/messages', { q: 'morning' });
  await route('GET /api/messages', { q: 'morning', channel: 'hall', since: '2026-01-02' });
  await route('GET /api/channels/{id}/queued', { id: 'hall' });
  await route('PATCH /api/agents/{id}', { id: 'echo' }, { instructions: 'Repeat.' });
  await route('POST /api/agents/{id}/pause', { id: 'echo' }, {});
  await route('POST /api/agents/{id}/resume', { id: 'echo' });
  await route('POST /api/agents/{id}/terminate', { id: 'echo' });
  await route('DELETE /api/agents/{id}', { id: 'echo' });
  const guest = await connectAgent({ home: world.home, agentId: world.agent('guest').id });
  await guest.call('check_inbox');
  const live = (await route('GET /api/runs', { agent: 'guest' })).items[0]?.id as string;
  await route('POST /api/runs/{id}/cancel', { id: live });
  await guest.close();
  await route('POST /api/apply', {}, {});
  const { id } = await route('POST /api/tokens', {}, { as: 'anna' });
  await route('DELETE /api/tokens/{id}', { id });
  await route('POST /api/links', {}, {});
  await callWorkspaces();
  const [node] = (await route('GET /api/nodes')).items as { id: string }[];
  await route('GET /api/nodes/{id}', { id: node?.id ?? '' });
  await route('POST /api/nodes/{id}/drain', { id: node?.id ?? '' });
  await route('POST /api/nodes/{id}/undrain', { id: node?.id ?? '' });
  await route('POST /tools/search', {}, { query: 'some "words here"' });
}

async function callChannels(messageId: string): Promise<void> {
  await route('POST /api/channels', {}, { id: 'hall', topic: 'Echoes', members: ['lead'] });
  await route('PATCH /api/channels/{id}', { id: 'hall' }, { topic: 'All' });
  await route('POST /api/channels/{id}/members', { id: 'hall' }, { participant: 'guest' });
  await route('PATCH /api/channels/{id}/members/{participant}', { id: 'hall', participant: 'guest' }, { wake: 'none' });
  const post = await route('POST /api/channels/{id}/messages', { id: 'hall' }, { text: 'Good morning @lead' });
  const id = post.messageId as string;
  await route('POST /api/channels/{id}/messages', { id: 'hall' }, { text: 'and more', parentMessageId: id });
  await route('GET /api/channels/{id}', { id: 'hall' });
  await route('GET /api/channels/{id}/members', { id: 'hall' });
  await route('GET /api/channels/{id}/messages', { id: 'hall' });
  await route('GET /api/channels/{id}/messages', { id: 'hall', thread: id });
  await route('POST /api/channels/{id}/read', { id: 'hall' });
  await route('DELETE /api/channels/{id}/members/{participant}', { id: 'hall', participant: 'guest' });
  await route('POST /api/messages/{id}/reactions', { id }, { emoji: '👍' });
  await route('GET /api/messages/{id}/reactions', { id });
  await route('DELETE /api/messages/{id}/reactions/{emoji}', { id, emoji: '👍' });
  await route('GET /api/messages/{id}', { id: id.slice(-8) });
  await route('GET /api/messages/{id}/replies', { id: messageId });
  await route('PATCH /api/messages/{id}', { id }, { text: 'Good evening' });
  await route('DELETE /api/messages/{id}', { id });
  await route('POST /api/channels', {}, { id: 'cellar' });
  await route('POST /api/channels/{id}/messages', { id: 'cellar' }, { text: 'dust' });
  await route('DELETE /api/channels/{id}', { id: 'cellar' });
}

async function callMemory(): Promise<void> {
  for (const [prefix, id] of [
    ['/api', {}],
    ['/api/agents/{id}', { id: 'lead' }],
  ] as [string, Record<string, string>][]) {
    const block = { ...id, label: 'plan' };
    for (const text of ['one', 'two']) await route(`PUT ${prefix}/memory/{label}`, block, { text });
    await route(`GET ${prefix}/memory/{label}`, block);
    await route(`GET ${prefix}/memory/{label}/history`, block);
    await route(`PUT ${prefix}/memory/{label}/sharing`, block, { with: ['guest'] });
    await route(`POST ${prefix}/memory/{label}/restore`, block, { version: 1 });
    await route(`DELETE ${prefix}/memory/{label}`, block);
  }
  const { passageId } = await route(
    'POST /api/agents/{id}/passages',
    { id: 'lead' },
    { content: 'The sea is cold.', tags: ['sea'] },
  );
  await route('DELETE /api/agents/{id}/passages/{passageId}', { id: 'lead', passageId });
}

async function callWorkspaces(): Promise<void> {
  await route('POST /api/workspaces', {}, { name: 'room' });
  await route('POST /api/workspaces/{id}/links', { id: 'room' }, { source: '/etc', target: 'docs' });
  await route('GET /api/workspaces/{id}', { id: 'room' });
  await route('DELETE /api/workspaces/{id}/links', { id: 'room', target: 'docs' });
  await route('DELETE /api/workspaces/{id}', { id: 'room' });
}

async function callTools(): Promise<void> {
  lead = await connectAgent({ home: world.home, agentId: world.agent('lead').id });
  await tool('spawn_agent', { name: 'child', instructions: 'Wait.' });
  await tool('gate', { agent_name: 'child' });
  await tool('send_message', { recipient: 'child', text: 'hello', sync: false });
  await tool('permit_turn', { agent_name: 'child' });
  await tool('ungate', { agent_name: 'child' });
  await tool('set_agent_metadata', { agent_name: 'child', key: 'task', value: 'to wait' });
  await tool('spawn_agent', { name: 'other', instructions: 'Wait.' });
  await tool('terminate_agent', { agent_name: 'other' });
  await tool('inspect_agent', { name: 'child' });
  await tool('list_agents');
  await tool('broadcast', { text: 'Good morning' });
  await tool('send_message', { channelId: 'hall', text: 'hello all' });
  const { messages } = await tool('read_channel', { channelId: 'hall' });
  const id = (messages as { messageId: string }[]).at(-1)?.messageId;
  await tool('react_to_message', { messageId: id, emoji: '👍' });
  await tool('read_channel', { channelId: 'hall', thread: id });
  await tool('search_messages', { query: 'hello' });
  await tool('check_inbox');
  await tool('check_inbox', { sender: 'user', kind: 'news' });
  await tool('update_memory', { label: 'plan', content: 'More.' });
  await tool('store_memory', { content: 'The sea is cold in May.', tags: ['sea'] });
  await tool('search_memory', { query: '"sea is" cold' });
  await tool('search_memory', { query: 'cold', tags: ['sea'], since: '2026-01-02' });
  await tool('search', { query: 'sea' });
  await tool('sources');
  await tool('create_workspace', { name: 'desk' });
  await tool('list_workspaces');
  await tool('delete_workspace', { name: 'desk' });
  const question = await tool('ask_person', { question: 'Now?', blocking: false });
  await route('GET /api/questions/{id}', { id: question.question_id as string });
  await route('POST /api/questions/{id}/answer', { id: question.question_id as string }, { text: 'Yes' });
  await route('POST /api/schedules', {}, { name: 'nightly', cron: '0 3 * * *', to: 'lead', text: 'Good night' });
  await route('DELETE /api/schedules/{name}', { name: 'nightly' });
  const { subscription_id } = await tool('subscribe', { agent_name: 'child', transition: 'busy->idle' });
  await tool('unsubscribe', { subscription_id });
  const { reminder_id } = await tool('remind_me', { reason: 'tea', timeout: 60 });
  await tool('cancel_reminder', { reminder_id });
  await tool('do_nothing');
  await route('POST /api/agents/{id}/terminate', { id: 'child' });
  await tool('complete', { result: 'Done.' });
}
