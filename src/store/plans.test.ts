import Database from 'better-sqlite3';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Agent } from '../core/agent.ts';
import { createTx } from './create-tx.ts';
import { migrate } from './migrate.ts';
import type { Execute } from './query.ts';
import { addAgent, claim, endRun, queueRun, startRun } from './store.testkit.ts';
import type { Tx } from './store.ts';

/** These tables grow forever, so no frequent query may scan one. */
const GROWING = ['block_changes', 'deliveries', 'events', 'messages', 'passages', 'requests', 'run_messages', 'runs'];
/** These indexes only contain what is in progress. */
const SHORT = ['runs_queue', 'runs_running'];

const database = new Database(':memory:');
let plan: string[] = [];
const execute: Execute = (sql, parameters) => {
  const steps = database.prepare(`explain query plan ${sql}`).all(...parameters) as { detail: string }[];
  plan.push(...steps.map(({ detail }) => detail));
  const statement = database.prepare(sql);
  if (statement.reader) return { rows: statement.all(...parameters), changes: 0 };
  return { rows: [], changes: statement.run(...parameters).changes };
};
const tx = createTx('sqlite', execute, { seq: 0, events: 0, runnable: false });
let ids: { agent: string; node: string; run: string; fence: number; message: string };

beforeAll(async () => {
  await migrate(execute, 'sqlite');
  const agent = await addAgent(tx);
  await fillWithPast(agent);
  const run = await startRun(tx, await addAgent(tx, { parent: agent }));
  await queueRun(tx, agent);
  ids = { agent: agent.id, node: agent.nodeId, run: run.id, fence: run.fence, message: 'm7' };
});

const anything = () => ({ agentId: ids.agent, tags: [], since: 0, until: Number.MAX_SAFE_INTEGER });

describe.each([false, true])('with 100,000 old messages, statistics: %s', (statistics) => {
  beforeAll(() => {
    if (statistics) database.exec('analyze');
  });

  const cases: [string, string[], (tx: Tx) => Promise<unknown>][] = [
    ['listPending', ['deliveries_pending'], (q) => q.deliveries.listPending({ agentId: ids.agent, limit: 200 })],
    [
      'listPendingHeads',
      ['deliveries_pending'],
      (q) => q.deliveries.listPendingHeads({ agentId: ids.agent, limit: 200 }),
    ],
    [
      'wakeAgent',
      ['deliveries_pending', 'runs_live', 'requests_asker'],
      (q) => q.runs.wakeAgent({ agentId: ids.agent, now: 1 }),
    ],
    ['wakeAllAgents', ['deliveries_pending', 'runs_live'], (q) => q.runs.wakeAllAgents({ nodeId: ids.node, now: 1 })],
    ['claimRun', ['runs_queue', 'runs_running'], (q) => claim(q, ids.node, { fullProviders: ['none'] })],
    ['holdRun', [], (q) => q.runs.holdRun({ runId: ids.run, fence: ids.fence })],
    ['getLiveRun', ['runs_live'], (q) => q.runs.getLiveRun({ agentId: ids.agent })],
    ['getNextStart', ['runs_queue'], (q) => q.runs.getNextStart({ nodeId: ids.node, now: 1 })],
    ['listRunning', ['runs_running'], (q) => q.runs.listRunning({ nodeId: ids.node })],
    ['listLeased', ['runs_running'], (q) => q.runs.listLeased()],
    [
      'renewLeases',
      [],
      (q) => q.runs.renewLeases({ nodeId: ids.node, incarnation: 'i', runIds: [ids.run], leaseUntil: 1 }),
    ],
    ['listNewlyPaused', ['runs_queue'], (q) => q.trees.listNewlyPaused({ maxTreeRuns: 0 })],
    ['listOverdueRequests', ['requests_deadline'], (q) => q.requests.listOverdueRequests({ now: 1, limit: 10 })],
    ['listCompleted', ['runs_agent'], (q) => q.runs.listCompleted({ agentId: ids.agent, after: 1, limit: 50 })],
    ['getNextTimer', ['timers_due'], (q) => q.timers.getNextTimer({ except: [] })],
    ['getNextDeadline', ['requests_deadline'], (q) => q.requests.getNextDeadline()],
    ['listOpenRequestsFrom', ['requests_asker'], (q) => q.requests.listOpenRequestsFrom({ askerId: ids.agent })],
    ['listOpenRequestsTo', ['requests_recipient'], (q) => q.requests.listOpenRequestsTo({ recipientId: ids.agent })],
    [
      'countOpenChildren',
      ['requests_parent'],
      (q) => q.requests.countOpenChildren({ id: ids.message, askerId: ids.agent }),
    ],
    ['closeRequest', [], (q) => q.requests.tryCloseRequest({ id: ids.message, at: 1 })],
    ['listCarried', ['deliveries_run'], (q) => q.deliveries.listCarried({ runId: ids.run })],
    ['endCarried', ['deliveries_run'], (q) => q.deliveries.endCarried({ runId: ids.run, state: 'acknowledged' })],
    ['isCarrying', ['deliveries_run'], (q) => q.deliveries.isCarrying({ runId: ids.run, authorId: 'user' })],
    [
      'killDeliveriesTo',
      ['deliveries_pending', 'deliveries_run'],
      (q) => q.deliveries.killDeliveriesTo({ agentId: 'none' }),
    ],
    ['listEffects', [], (q) => q.records.listEffects({ runId: ids.run, callKey: 'k' })],
    ['getAgentView', ['runs_live', 'deliveries_pending'], (q) => q.agents.getAgentView({ id: ids.agent })],
    ['listReplies', ['messages_reply'], (q) => q.messages.listReplies({ id: ids.message })],
    ['listInbox', ['messages_inbox'], (q) => q.messages.listInbox({ participantId: 'user', before: 50_000, limit: 5 })],
    ['listSeenBlocks', ['block_readers_agent'], (q) => q.memory.listSeenBlocks({ readerId: ids.agent })],
    ['listBlockChanges', [], (q) => q.memory.listBlockChanges({ blockId: 'b', before: 9, limit: 5 })],
    ['listPassages', [], (q) => q.memory.listPassages({ ...anything(), before: 9, limit: 5 })],
    [
      'findPassages',
      [],
      (q) => q.memory.findPassages({ ...anything(), terms: { words: ['w'], phrases: [['w', 'x']] }, limit: 5 }),
    ],
    ['findPassagesContaining', [], (q) => q.memory.findPassagesContaining({ ...anything(), text: 'x', limit: 5 })],
    ['listEvents', [], (q) => q.events.listEvents({ after: 5, limit: 5 })],
    [
      'pruneMessages',
      ['runs_trigger', 'runs_serves', 'requests_reply', 'messages_thread', 'messages_reply', 'requests_parent'],
      (q) => q.retention.pruneMessages({ before: 1, after: 1_050, limit: 5 }),
    ],
    ['pruneRecords', [], (q) => q.retention.pruneRecords({ before: 9e9, after: { seq: 1_050, id: '' }, limit: 5 })],
    [
      'pruneRuns',
      ['deliveries_run'],
      (q) => q.retention.pruneRuns({ before: 9e9, after: { seq: 1_050, id: '' }, limit: 5 }),
    ],
    ['pruneHistory', [], (q) => q.retention.pruneHistory({ before: 1, after: { blockId: '', version: 0 }, limit: 5 })],
    [
      'listAgentViews',
      ['agents_living', 'runs_live', 'deliveries_pending'],
      (q) => q.agents.listAgentViews({ after: { createdAt: 1, id: '' }, limit: 5, all: false }),
    ],
  ];

  test.each(cases)('%s() reads no more than it needs, by %j', async (_name, indexes, query) => {
    plan = [];
    await query(tx);
    expect(plan.filter(isLong)).toEqual([]);
    for (const index of indexes) expect(plan.join('\n')).toContain(index);
  });
});

/** A plan step that scans a growing table, or builds a temporary index for it. */
function isLong(step: string): boolean {
  const [, table, index] = /^SCAN (\w+)(?:.* INDEX (\w+))?/.exec(step) ?? [];
  return step.includes('AUTOMATIC') || (GROWING.includes(table ?? '') && !SHORT.includes(index ?? ''));
}

/** 100,000 requests to the agent, each answered in its own run, long ago. */
async function fillWithPast(agent: Agent): Promise<void> {
  await endRun(tx, await queueRun(tx, agent));
  database.exec(`update deliveries set state = 'acknowledged'; update requests set state = 'closed'`);
  const copy = (table: string, columns: Record<string, string>) => {
    const names = database
      .prepare(`select * from ${table}`)
      .columns()
      .map(({ name }) => name);
    const values = names.map((name) => columns[name] ?? name);
    database.exec(`
      with recursive many (i) as (select 1 union all select i + 1 from many where i < 100000)
      insert into ${table} (${names}) select ${values} from many, (select * from ${table} limit 1)`);
  };
  copy('messages', { id: `'m' || i`, seq: '1000 + i' });
  copy('requests', { message_id: `'m' || i`, parent_id: `iif(i % 2, null, 'm' || (i - 1))` });
  copy('deliveries', { message_id: `'m' || i`, run_id: `'r' || i` });
  copy('runs', { id: `'r' || i`, seq: '1000 + i' });
}
