import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { Agent } from '../src/core/agent.ts';
import { createAgent } from '../src/messaging/tree.ts';
import { createAttempt } from '../src/runs/attempt.ts';
import { passageQuery } from '../src/search/search.ts';
import { openStore } from '../src/store/open.ts';
import { scopedWord } from '../src/store/passage-search.ts';
import type { Store } from '../src/store/store.ts';
import { callTool, type ToolDependencies } from '../src/tools/call.ts';
import { createRateLimiter } from '../src/tools/rate.ts';
import { alternate, type Bench, compared, median, type Row } from './measure.ts';

const PASSAGES = 1_000_000;
const OTHERS = 90;
const WORDS = 20_000;
const LENGTH = 20;
const SEARCHES = 42;

/** search_memory as an agent calls it, recorded and committed, compared with the same query on SQLite directly. */
export default async function memory({ scratch, defer }: Bench): Promise<Row[]> {
  const path = join(scratch, 'memory.db');
  const store = await openStore({ path });
  defer(() => store.close());
  const agent = await fill(store, path);
  const raw = new Database(path, { readonly: true });
  defer(() => raw.close());

  const search = await caller(store, agent);
  const byWords = raw.prepare(`
    select p.id, p.content, p.tags, p.created_at
    from (select rowid, bm25(passage_words) as score from passage_words where passage_words match ?
          order by score, rowid desc limit 20) as found
    cross join passages as p where p.agent_id = ? and p.seq = found.rowid order by score, p.seq desc`);
  const byText = raw.prepare(`
    select id, content, tags, created_at from passages
    where agent_id = ? and content like ? order by seq desc limit 20`);
  const match = (query: string) =>
    passageQuery(query)
      .words.map((word) => `"${scopedWord(agent.id, word)}"`)
      .join(' OR ');
  let asked = 0;
  return [
    await compare(
      'search_memory, 2 to 8 words, 100,000 of 1,000,000 passages, p50',
      () => Array.from({ length: 2 + (asked++ % 7) }, word).join(' '),
      async (query) => byWords.all(match(query), agent.id),
      search,
    ),
    // Nothing matches, so every text of the agent is scanned.
    await compare(
      'search_memory of what is nowhere, 100,000 passages, p50',
      () => `${word()}zz`,
      async (query) => byText.all(agent.id, `%${query}%`),
      search,
    ),
  ];
}

async function compare(
  name: string,
  query: () => string,
  yardstick: (query: string) => Promise<unknown>,
  ours: (query: string) => Promise<unknown>,
): Promise<Row> {
  const queries = Array.from({ length: SEARCHES }, query);
  const time = (search: typeof ours) => async () => {
    const took: number[] = [];
    for (const one of queries) {
      const begin = performance.now();
      await search(one);
      took.push(performance.now() - begin);
    }
    return median(took);
  };
  await time(ours)();
  const measured = await alternate(time(yardstick), time(ours));
  return { name, unit: 'ms', ...compared(measured), goalOf: 'ratio', atMost: 1.5 };
}

/**
 * Every tenth passage is the agent's, the rest are others'. One direct transaction, because a million calls would
 * take long.
 */
async function fill(store: Store, path: string): Promise<Agent> {
  const agents = await store.write(async (tx) => {
    const made: Agent[] = [];
    for (let n = 0; n <= OTHERS; n += 1) made.push(await createAgent(tx, LIMITS, describeAgent(n), 1));
    return made;
  });
  const database = new Database(path);
  database.pragma('synchronous = off');
  const hashSize = database.prepare(`insert into passage_words (passage_words, rank) values ('hashsize', ?)`);
  const insert = database.prepare(`
    insert into passages (agent_id, seq, id, content, tags, created_at, length, indexed) values (?, ?, ?, ?, '[]', ?, ${LENGTH}, 1)`);
  const index = database.prepare('insert into passage_words (rowid, words) values (?, ?)');
  database.transaction(() => {
    hashSize.run(64n * 1024n * 1024n);
    for (let n = 1; n <= PASSAGES; n += 1) {
      const { id } = agents[n % 10 === 0 ? 0 : 1 + (n % OTHERS)] as Agent;
      const words = Array.from({ length: LENGTH }, word);
      insert.run(id, n, `p${n}`, words.join(' '), n);
      index.run(n, words.map((one) => scopedWord(id, one)).join(' '));
    }
    hashSize.run(1024n * 1024n);
    database.exec('insert into passage_stats select agent_id, count(*), sum(length) from passages group by agent_id');
  })();
  database.close();
  return agents[0] as Agent;
}

async function caller(store: Store, agent: Agent): Promise<(query: string) => Promise<unknown>> {
  const { id: agentId, treeId, nodeId } = agent;
  const run = await store.write((tx) => tx.runs.insertOpenRun({ agentId, treeId, nodeId, incarnation: 'i', now: 1 }));
  const attempt = createAttempt(run, agent);
  const deps: ToolDependencies = {
    store,
    clock: Date.now,
    settings: {} as ToolDependencies['settings'],
    limiter: createRateLimiter(1_000_000),
    onAgentCreated: async () => {},
    onTerminated: async () => {},
    onClaimed: () => {},
    onWorkspaceChanged: async () => {},
    log: console,
  };
  return async (query) => {
    const answer = await callTool(deps, attempt, 'search_memory', { query });
    if (!answer || answer.isError) throw new Error(`search_memory failed: ${JSON.stringify(answer)}`);
  };
}

const LIMITS = { maxChildren: 0, maxDepth: 0, maxAgents: 1000 };

function describeAgent(n: number) {
  return {
    name: `agent-${n}`,
    parent: null,
    nodeId: 'bench',
    role: 'worker',
    instructions: '',
    provider: 'external',
    model: null,
    program: null,
    workspace: '/var/empty',
    workspaceId: null,
    tools: null,
    spawnedBy: null,
  };
}

let state = 1;

/** The same words in every run, some common and most rare. */
function word(): string {
  state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
  return `w${Math.floor(WORDS * (state / 2_147_483_648) ** 3).toString(36)}`;
}
