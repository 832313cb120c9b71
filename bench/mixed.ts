import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { type RunningDaemon, startDaemon } from './daemon.ts';
import { beginHistory, fillHistory } from './fill-history.ts';
import { type Bench, percentile, type Row } from './measure.ts';

const CHUNKS = 200_000;
const HISTORY = { messages: 200_000, runs: 40_000, agents: 5_000, passages: 1_000 };
const POSTS = 400;
const WARM_UP_MS = 2_000;
const PROBE = new URL('programs/main-thread.mjs', import.meta.url).href;

/** Posts while others search and sum without pause: what they cost each other, and whether the log of SQLite stays small. */
export default async function mixed({ scratch, defer }: Bench): Promise<Row[]> {
  const home = join(scratch, 'home');
  await beginHistory(home);
  await fillHistory(home, HISTORY);
  fillChunks(home);

  const daemon = await startDaemon(home, { NODE_OPTIONS: `--import ${PROBE}` });
  defer(() => daemon.stop());
  const post = async () => {
    const took: number[] = [];
    for (let n = 0; n < POSTS; n += 1) {
      const began = performance.now();
      await daemon.client.sendMessage('guest', { text: 'hello' });
      took.push(performance.now() - began);
    }
    return took;
  };
  await post();
  const alone = await post();
  const one = await searching(home, 1, 0, defer);
  await longestTurn(daemon);
  const beside = await searching(home, 4, 1, defer, post);
  const turn = await longestTurn(daemon);
  const all = await searching(home, 16, 0, defer);
  const log = statSync(join(home, 'substrat.db-wal')).size / 1024 / 1024;
  return [
    {
      name: 'post p50, four search and one polls usage',
      unit: 'ms',
      yardstick: percentile(alone, 50),
      result: percentile(beside.took, 50),
      goalOf: 'difference',
    },
    {
      name: 'post p99, four search and one polls usage',
      unit: 'ms',
      yardstick: percentile(alone, 99),
      result: percentile(beside.took, 99),
      goalOf: 'difference',
      atMost: 5,
    },
    {
      name: 'longest turn of the main thread meanwhile, CPU',
      unit: 'ms',
      yardstick: null,
      result: turn,
      goalOf: 'result',
      atMost: 50,
    },
    {
      name: 'searches with 16 clients against one',
      unit: '/s',
      yardstick: one.perSecond,
      result: all.perSecond,
      goalOf: 'ratio',
      atLeast: 1.5,
    },
    { name: 'write-ahead log afterwards', unit: 'MB', yardstick: null, result: log, goalOf: 'result', atMost: 64 },
  ];
}

/** Since the last call. */
async function longestTurn({ pid, home }: RunningDaemon): Promise<number> {
  const file = join(home, 'main-thread');
  rmSync(file, { force: true });
  process.kill(pid, 'SIGUSR2');
  while (!existsSync(file)) await sleep(5);
  return Number(readFileSync(file, 'utf8'));
}

async function searching(
  home: string,
  clients: number,
  usage: number,
  defer: Bench['defer'],
  meanwhile: () => Promise<number[]> = async () => {
    await sleep(4_000);
    return [];
  },
): Promise<{ took: number[]; perSecond: number }> {
  const program = join(import.meta.dirname, 'programs/searchers.ts');
  const child: ChildProcess = spawn(process.execPath, [program, home, String(clients), String(usage)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  defer(() => child.kill('SIGKILL'));
  const began = performance.now();
  await sleep(WARM_UP_MS);
  const took = await meanwhile();
  child.kill('SIGTERM');
  const [count] = (await once(child.stdout as NonNullable<ChildProcess['stdout']>, 'data')) as [Buffer];
  return { took, perSecond: Number(String(count)) / ((performance.now() - began) / 1000) };
}

/** Chunks of thirty words; the most frequent words are in many chunks. */
function fillChunks(home: string): void {
  const database = new Database(join(home, 'substrat.db'));
  database.pragma('synchronous = off');
  database.exec(`insert into documents (id, source, source_id, version, hash, content_type, created_at, updated_at, indexed_at,
    title, tags, metadata, body) values ('d', 'filesystem:docs', 'd', 'v', 'h', 'text/plain', 1, 1, 1, 'Handbook', '[]', '{}', '')`);
  const chunk = database.prepare(
    `insert into chunks (document_id, idx, hash, place, text) values ('d', ?, 'h', '{}', ?)`,
  );
  const words = database.prepare(`insert into chunk_words (rowid, title, words) values (?, 'handbook', ?)`);
  database.transaction(() => {
    for (let n = 0; n < CHUNKS; n += 1) {
      const text = Array.from({ length: 30 }, () => `word${Math.floor(20_000 * Math.random() ** 3)}`).join(' ');
      words.run(chunk.run(n, text).lastInsertRowid, text);
    }
  })();
  database.close();
}
