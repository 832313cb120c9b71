import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ctxJson, ctxLauncher, runCtx } from '../helpers/ctx.ts';

const KILLS = 20;
const DOCUMENTS = 1_500;
const LIMIT = 50;
const QUERIES = ['apple', 'banana cherry', 'section seven', 'function w12', 'w3 w700 w31', 'nothingofthekind'];

let work: string;

beforeAll(() => {
  work = mkdtempSync(join(tmpdir(), 'ctx-kill-'));
  for (const place of ['killed', 'calm']) {
    mkdirSync(join(work, place));
    writeFileSync(
      join(work, place, 'ctx.toml'),
      '[db]\npath = "ctx.db"\n[connectors.filesystem.docs]\nroot = "../docs"\n',
    );
  }
  mkdirSync(join(work, 'docs'));
  for (let n = 0; n < DOCUMENTS; n += 1) write(n, 0);
});
afterAll(() => rmSync(work, { recursive: true }));

/** The same files for both, some of them code and a few broken. */
function write(n: number, edition: number): void {
  const words = Array.from({ length: 120 }, (_, i) => `w${(n * 31 + i * 7 + edition) % 900}`).join(' ');
  const fruit = ['apple', 'banana', 'cherry'][(n + edition) % 3];
  const kind = n % 50 === 0 ? 'ts' : n % 97 === 0 ? 'docx' : 'md';
  const text =
    kind === 'ts'
      ? `export function w${n}() {\n  // ${fruit} ${words}\n}\n`
      : `# ${fruit} ${n}\n\n${words}\n\n## section ${n % 9}\n\n${words}\n`;
  const path = join(work, 'docs', `d${n}.${kind}`);
  writeFileSync(path, text);
  utimesSync(path, 1_700_000_000 + edition, 1_700_000_000 + edition);
}

test(`a sync killed ${KILLS} times ends with the same index as an uninterrupted one`, async () => {
  let died = 0;
  for (let kill = 0; kill < KILLS; kill += 1) {
    // Half-way the source changes, so that updates and removals are interrupted too. Both indexes get the first
    // version completely: replaced words still count for frequency, so an updated index scores slightly differently
    // from a new one.
    if (kill === KILLS / 2) {
      for (const place of ['killed', 'calm']) await ctxJson(join(work, place), 'sync');
      change();
    }
    const child = spawn(ctxLauncher, ['sync'], {
      cwd: join(work, 'killed'),
      env: { ...process.env, SUBSTRAT_HOME: join(work, 'killed/home'), CTX_CONFIG: 'ctx.toml' },
      stdio: 'ignore',
    });
    const ended = once(child, 'exit') as Promise<[number | null, string | null]>;
    await Promise.race([ended, pause(120 + Math.random() * 500)]);
    child.kill('SIGKILL');
    if ((await ended)[1] === 'SIGKILL') died += 1;
    expectWhole(join(work, 'killed/ctx.db'));
  }
  expect(died).toBeGreaterThanOrEqual(KILLS / 2);
  await ctxJson(join(work, 'killed'), 'sync');
  await ctxJson(join(work, 'calm'), 'sync');
  expect(await everything('killed')).toEqual(await everything('calm'));
  for (const query of QUERIES) expect(await results('killed', query), query).toEqual(await results('calm', query));
  const again = await ctxJson<{ sources: { indexed: number }[] }>(join(work, 'killed'), 'sync');
  expect(again.sources[0]).toMatchObject({ indexed: 0, deleted: 0 });
}, 120_000);

function change(): void {
  for (let n = 1; n < DOCUMENTS; n += 4) write(n, 1);
  for (let n = 3; n < DOCUMENTS; n += 10) rmSync(join(work, 'docs', `d${n}.md`), { force: true });
}

/** No document without its chunks, no chunk without its document and its words, whenever it was killed. */
function expectWhole(path: string): void {
  let database: Database.Database;
  try {
    database = new Database(path, { fileMustExist: true });
  } catch {
    return; // it was killed before there was anything
  }
  const count = (sql: string) => {
    try {
      return (database.prepare(sql).get() as { n: number }).n;
    } catch (error) {
      if (/no such table/.test((error as Error).message)) return 0;
      throw error;
    }
  };
  expect(
    count('select count(*) n from documents where not exists (select 1 from chunks where document_id = documents.id)'),
  ).toBe(0);
  expect(count('select count(*) n from chunks left join documents d on d.id = document_id where d.id is null')).toBe(0);
  expect(count('select count(*) n from chunks')).toBe(count('select count(*) n from chunk_words'));
  expect(
    count(
      'select count(*) n from (select document_id from chunks group by document_id having count(*) <> max(idx) + 1)',
    ),
  ).toBe(0);
  database.close();
}

/** Every document with its chunks, without ids and times. */
async function everything(place: string) {
  const directory = join(work, place);
  expect((await runCtx(directory, 'export', '--output', 'all.jsonl')).code).toBe(0);
  const lines = readFileSync(join(directory, 'all.jsonl'), 'utf8').trim().split('\n');
  return lines.map((line) => ({ ...JSON.parse(line), id: '', created_at: '', updated_at: '' }));
}

async function results(place: string, query: string) {
  const found = await ctxJson<{ results: { source_id: string; score: number; snippet: string }[] }>(
    join(work, place),
    'search',
    query,
    '--limit',
    String(LIMIT),
  );
  const shown = found.results.map(({ source_id, score, snippet }) => ({
    source_id,
    score: Math.round(score * 1e6),
    snippet,
  }));
  // Equal scores may come in any order, and at the limit any of them may be cut.
  const cut = shown.length < LIMIT ? -1 : Math.min(...shown.map(({ score }) => score));
  return shown
    .map((result) => (result.score === cut ? { ...result, source_id: '', snippet: '' } : result))
    .sort((a, b) => b.score - a.score || (a.source_id < b.source_id ? -1 : 1));
}
