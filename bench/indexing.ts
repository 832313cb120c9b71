import { mkdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { filesystemConnector } from '../src/knowledge/connectors/filesystem.ts';
import { Extractor } from '../src/knowledge/extract/extractor.ts';
import { type SyncCounts, syncSource } from '../src/knowledge/sync.ts';
import { openStore } from '../src/store/open.ts';
import type { Store } from '../src/store/store.ts';
import { writeCorpus } from './corpus.ts';
import { alternate, type Bench, compared, cpuOf, type Row } from './measure.ts';

const DOCUMENTS = 2_000;
const WORDS = 900;

/** A first sync of files, compared with inserting the same chunks into an FTS5 table. */
export default async function indexing({ scratch }: Bench): Promise<Row[]> {
  const root = join(scratch, 'corpus');
  mkdirSync(root);
  writeCorpus(root, DOCUMENTS, WORDS);
  const path = join(scratch, 'indexing.db');
  await indexAll(root, path);
  const texts = chunkTexts(path);
  const size = statSync(path).size / texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  const timed = (work: () => Promise<void>) => async () => {
    for (const end of ['', '-wal', '-shm']) rmSync(`${path}${end}`, { force: true });
    const begin = performance.now();
    const [cpuMs = 0] = await cpuOf([null], work);
    return { wall: (DOCUMENTS * 1000) / (performance.now() - begin), cpu: (DOCUMENTS * 1000) / cpuMs };
  };
  const measured = await alternate(
    timed(async () => insertRaw(path, texts)),
    timed(() => indexAll(root, path)),
    ({ cpu }) => cpu,
  );
  const name = `indexing ${DOCUMENTS} documents (${texts.length} chunks) against the same chunks into FTS5`;
  const goal = { goalOf: 'ratio', atLeast: 0.5 } as const;
  return [
    { name, unit: 'documents/s', ...compared(measured, ({ wall }) => wall), ...goal },
    { name: `${name}, by CPU`, unit: 'documents/s', ...compared(measured, ({ cpu }) => cpu), ...goal },
    { name: 'size of the store for each MB of text', unit: 'MB', yardstick: null, result: size, goalOf: 'result' },
  ];
}

async function indexAll(root: string, path: string): Promise<void> {
  const store = await openStore({ path }, { durability: 'normal' });
  const extractor = new Extractor();
  try {
    await indexFiles(store, extractor, root);
  } finally {
    await extractor.close();
    await store.close();
  }
}

export function indexFiles(store: Store, extractor: Extractor, root: string): Promise<SyncCounts> {
  const selection = { include: ['**'], exclude: [], tags: [], maxBytes: 1e9, gitignore: true, followSymlinks: false };
  return syncSource({
    store,
    connector: filesystemConnector({ source: 'filesystem:bench', root, ...selection }),
    indexer: { extractor, limits: { maxTokens: 700, overlapTokens: 80 }, clock: Date.now },
    scope: {},
    dryRun: false,
    signal: new AbortController().signal,
    onProgress: () => {},
    onSkip: (id, reason) => {
      throw new Error(`${id}: ${reason}`);
    },
  });
}

function chunkTexts(path: string): string[] {
  const database = new Database(path, { readonly: true });
  const rows = database.prepare('select text from chunks order by id').all() as { text: string }[];
  database.close();
  return rows.map(({ text }) => text);
}

function insertRaw(path: string, texts: readonly string[]): void {
  const database = new Database(path);
  database.pragma('journal_mode = wal');
  database.pragma('synchronous = full');
  database.exec('create virtual table raw using fts5 (text)');
  const insert = database.prepare('insert into raw (text) values (?)');
  database.transaction(() => {
    for (const text of texts) insert.run(text);
  })();
  database.close();
}
