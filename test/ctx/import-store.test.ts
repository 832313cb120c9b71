import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ctxJson, runCtx } from '../helpers/ctx.ts';

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'substrat-old-'));
  mkdirSync(join(directory, 'data'));
  mkdirSync(join(directory, 'docs'));
  writeFileSync(
    join(directory, 'ctx.toml'),
    '[db]\npath = "data/ctx.sqlite"\n[connectors.filesystem.docs]\nroot = "docs"\n',
  );
});
afterEach(() => rmSync(directory, { recursive: true }));

const DOCUMENTS = [
  [
    'filesystem:docs',
    'deploy.md',
    'Deploying',
    '# Deploying\n\n## Steps\n\nPush the green button.',
    'text/plain',
    '{}',
  ],
  ['filesystem:docs', 'paper.pdf', null, 'Text of the paper about herons.', 'application/pdf', '{}'],
  ['script:jira', 'ENG-1', 'ENG-1', 'The printer is broken.', 'text/plain', '{"state":"open"}'],
  ['script:jira', 'ENG-2', 'ENG-2', 'Odd metadata.', 'text/plain', 'no JSON'],
  ['script:jira', 'ENG-3', 'ENG-3', 'Odd address.', 'text/plain', '{}', 'https://x/\0'],
] as const;

/** The tables of Context Harness, with a few documents. */
function createOldStore(path: string): void {
  const database = new Database(path);
  database.exec(`
    create table documents (id text primary key, source text not null, source_id text not null, source_url text, title text,
      author text, created_at integer not null, updated_at integer not null, content_type text not null, body text not null,
      metadata_json text not null, raw_json text, dedup_hash text not null, unique (source, source_id));
    create table chunks (id text primary key, document_id text, chunk_index integer, text text, hash text);
    create table checkpoints (source text primary key, cursor text, updated_at integer);
    create virtual table chunks_fts using fts5 (chunk_id unindexed, document_id unindexed, text);
    create table embeddings (chunk_id text primary key, model text, dims integer);
    create table chunk_vectors (chunk_id text primary key, document_id text, embedding blob);`);
  const insert = database.prepare(
    "insert into documents values (?, ?, ?, ?, ?, null, 1700000000, 1700000100, ?, ?, ?, null, 'h')",
  );
  for (const [i, [source, id, title, body, type, metadata, url = null]] of DOCUMENTS.entries()) {
    insert.run(`d${i}`, source, id, url, title, type, body, metadata);
  }
  database.close();
}

interface Found {
  readonly results: readonly { readonly source: string; readonly source_id: string; readonly updated_at: string }[];
}

test('a configured store of Context Harness is recognized, left as it is, and imported', async () => {
  const path = join(directory, 'data/ctx.sqlite');
  createOldStore(path);
  const before = readFileSync(path);
  for (const command of ['sync', 'stats']) {
    expect(await runCtx(directory, command)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`${path} is a store of Context Harness. Run \`ctx import-store\``),
    });
  }
  expect(await ctxJson(directory, 'import-store', '--dry-run')).toMatchObject({
    sources: [
      { source: 'filesystem:docs', documents: 2 },
      { source: 'script:jira', documents: 3 },
    ],
  });
  expect(readFileSync(path).equals(before)).toBe(true);

  const { code, stdout } = await runCtx(directory, 'import-store');
  expect(code).toBe(0);
  expect(stdout).toContain('filesystem:docs: 2 seen, 2 indexed');
  expect(stdout).toContain(`The old store is now ${path}.context-harness`);
  expect(stdout).toContain('script:jira: 3 seen, 2 indexed (2 chunks), 0 removed, 0 unchanged, 1 skipped');
  expect(readFileSync(`${path}.context-harness`).equals(before)).toBe(true);
  const first = async (query: string) => (await ctxJson<Found>(directory, 'search', query)).results[0];
  expect(await first('green button')).toMatchObject({ source_id: 'deploy.md', updated_at: '2023-11-14T22:15:00.000Z' });
  expect(await first('herons')).toMatchObject({ source_id: 'paper.pdf' });
  expect(await first('odd metadata')).toMatchObject({ source_id: 'ENG-2' });
  expect(await first('printer')).toMatchObject({ source: 'script:jira', source_id: 'ENG-1' });
});

test('a named store adds what is missing and removes and replaces nothing', async () => {
  const old = join(directory, 'old.sqlite');
  createOldStore(old);
  writeFileSync(join(directory, 'docs/deploy.md'), '# Deploying\n\nPush the blue lever.\n');
  writeFileSync(join(directory, 'docs/fresh.md'), '# Fresh\n\nOnly here.\n');
  await runCtx(directory, 'sync');
  expect((await runCtx(directory, 'import-store', old)).code).toBe(0);
  expect(existsSync(old)).toBe(true);
  const ids = async (query: string) =>
    (await ctxJson<Found>(directory, 'search', query)).results.map(({ source_id }) => source_id);
  expect(await ids('lever')).toEqual(['deploy.md']);
  expect(await ids('green')).toEqual([]);
  expect(await ids('fresh')).toContain('fresh.md');
  expect(await ids('printer')).toEqual(['ENG-1']);
});

test('any other file is refused', async () => {
  const other = join(directory, 'other.sqlite');
  new Database(other).exec('create table documents (id text)').close();
  writeFileSync(join(directory, 'text.sqlite'), 'not a database at all, but long enough to be read as one');
  for (const [name, said] of [
    ['other.sqlite', 'is not a store of Context Harness'],
    ['text.sqlite', 'cannot be read: file is not a database'],
    ['none.sqlite', 'does not exist'],
  ] as const) {
    expect(await runCtx(directory, 'import-store', join(directory, name))).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(said),
    });
  }
});
