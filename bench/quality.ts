// Search quality on development and test sets: `npm run bench:quality [SET…]`. The first run downloads the models.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { table } from '../src/command-line/terminal.ts';
import { loadConfig } from '../src/config/config.ts';
import { resolveHome } from '../src/config/home.ts';
import { createEmbedder, type Embedder } from '../src/knowledge/embedding.ts';
import { openStore } from '../src/store/open.ts';
import type { Store } from '../src/store/store.ts';
import { createDatabases } from '../test/helpers/postgres-databases.ts';
import { startPostgres } from '../test/helpers/postgres-server.ts';
import { fetchBgeSmall } from './quality/bge-small.ts';
import { readCode } from './quality/code-set.ts';
import type { Collection, Half } from './quality/collection.ts';
import { readCranfield } from './quality/cranfield.ts';
import { memoryRankers, readDialogues } from './quality/dialogues.ts';
import { documentRankers, type Rankers } from './quality/documents.ts';
import { fts5Porter } from './quality/fts5-porter.ts';
import { plainBm25 } from './quality/plain-bm25.ts';
import { type Quality, qualityOf, type Ranker } from './quality/rankings.ts';
import { readTyped } from './quality/typed-set.ts';

/** Hybrid may be this much below the better of its parts. */
const BELOW = 0.02;
/** nDCG of hybrid, by set and model. */
const LEAST: Readonly<Record<string, number>> = {
  'Cranfield, test, default': 0.594,
  'Cranfield, test, bge-small-en-v1.5': 0.605,
};
/** The typed half that nothing is tuned on. */
const TYPED = { set: 'typed, test', firstThree: 0.92 };
/** PostgreSQL's nDCG differs by at most this share of SQLite's. */
const APART = 0.01;

const home = resolveHome(process.env);
const models = join(home, 'models');
const scratch = mkdtempSync(join(tmpdir(), 'substrat-quality-'));
const { embedding, retrieval } = loadConfig({ cwd: scratch, home, env: {} });
const wanted = process.argv.slice(2).filter((word) => !word.startsWith('--'));
const missed: string[] = [];
const server = process.argv.includes('--postgres') ? await startPostgres() : { unavailable: 'give --postgres for it' };
const databases = 'url' in server ? createDatabases(server.url) : null;
try {
  mkdirSync(models, { recursive: true });
  await reportModel('default', createEmbedder({ ...embedding, provider: 'local' }, { models }) as Embedder);
  const bge = fetchBgeSmall(models);
  if ('skipped' in bge) console.log(`\nbge-small-en-v1.5: skipped, ${bge.skipped}`);
  else {
    const local = { ...embedding, provider: 'local', model: 'bge-small-en-v1.5' } as const;
    await reportModel('bge-small-en-v1.5', createEmbedder(local, { models }) as Embedder);
  }
  if ('unavailable' in server) console.log(`\nPostgreSQL: left out: ${server.unavailable}`);
  for (const line of missed) console.log(`MISSED: ${line}`);
  if (missed.length === 0) console.log('\nEvery goal is met.');
} finally {
  if ('stop' in server) await server.stop();
  rmSync(scratch, { recursive: true });
}
process.exitCode = missed.length === 0 ? 0 : 1;

async function reportModel(model: string, slow: Embedder): Promise<void> {
  const embedder = remembering(slow);
  console.log(`\nModel: ${model}. nDCG@10; R, MAP: recall@10 and mean average precision of hybrid`);
  const rows: string[][] = [];
  for (const collection of collections()) {
    const isMemory = collection.name.startsWith('dialogues');
    const open = (store: Store) =>
      isMemory
        ? memoryRankers(store, collection, embedder)
        : documentRankers(store, collection, { embedder, retrieval });
    const path = join(process.env.SUBSTRAT_QUALITY_STORES ?? scratch, `${collection.name}-${model}.db`);
    await withStore({ path }, async (store) => {
      const rankers = await open(store);
      for (const half of ['dev', 'test'] as const) {
        if (!collection.queries.some((query) => query.half === half)) continue;
        const row = await rowOf(model, collection, half, rankers);
        if ('url' in server) row.push(...(await parity(collection, half, open, Number(row[5]), row[0] ?? '')));
        rows.push(row);
      }
    });
  }
  const postgres = 'url' in server ? ['POSTGRES', 'AGAINST SQLITE'] : [];
  const headings = [
    'SET',
    'FTS5 PORTER',
    'WINK BM25',
    'KEYWORD',
    'SEMANTIC',
    'HYBRID',
    'AGAINST BEST PART',
    'R',
    'MAP',
    'FIRST 3',
  ];
  for (const line of table([...headings, ...postgres], rows)) console.log(line);
}

/** The same text is embedded once, for all stores. */
function remembering({ model, embed }: Embedder): Embedder {
  const known = new Map<string, Promise<Float32Array[]>>();
  return {
    model,
    embed: async (texts, kind) => {
      const made = texts.map((text) => {
        const key = `${kind} ${text}`;
        const vector = known.get(key) ?? embed([text], kind);
        known.set(key, vector);
        return vector;
      });
      return (await Promise.all(made)).flat();
    },
  };
}

function collections(): Collection[] {
  const cranfield = readCranfield();
  if (!cranfield) console.log('Cranfield: skipped; $SUBSTRAT_CRANFIELD says where the collection is.');
  const all = [
    ...(cranfield ? [cranfield] : []),
    ...[readCode('dev'), readCode('test'), readTyped(), readDialogues('dev'), readDialogues('test')],
  ];
  return all.filter(({ name }) => wanted.length === 0 || wanted.some((one) => name.startsWith(one)));
}

async function rowOf(model: string, collection: Collection, half: Half, rankers: Rankers): Promise<string[]> {
  const of = (ranker: Ranker): Promise<Quality> => qualityOf(ranker, collection, half);
  const set = collection.name.includes(',') ? collection.name : `${collection.name}, ${half}`;
  const [porter, wink] = [await of(fts5Porter(collection)), await of(plainBm25(collection))];
  const { keyword, semantic, hybrid } = {
    keyword: await of(rankers.keyword),
    semantic: await of(rankers.semantic),
    hybrid: await of(rankers.hybrid),
  };
  const against = hybrid.ndcg - Math.max(keyword.ndcg, semantic.ndcg);
  if (against < -BELOW) missed.push(`${set}, ${model}: hybrid is ${(-against).toFixed(3)} below the better part`);
  const least = LEAST[`${set}, ${model}`] ?? 0;
  if (hybrid.ndcg < least) missed.push(`${set}, ${model}: ${hybrid.ndcg.toFixed(4)}, at least ${least}`);
  if (set === TYPED.set && Math.min(keyword.firstThree, hybrid.firstThree) < TYPED.firstThree) {
    missed.push(`${set}, ${model}: less than ${TYPED.firstThree} in the first three`);
  }
  return [
    set,
    ...[porter, wink, keyword, semantic, hybrid].map(({ ndcg }) => ndcg.toFixed(4)),
    `${against < 0 ? '' : '+'}${against.toFixed(4)}`,
    ...[hybrid.recall, hybrid.map, hybrid.firstThree].map((value) => value.toFixed(3)),
  ];
}

/** The same collection on PostgreSQL. */
async function parity(
  collection: Collection,
  half: Half,
  open: (store: Store) => Promise<Rankers>,
  sqlite: number,
  set: string,
): Promise<string[]> {
  if (!('url' in server)) return [];
  return withStore({ url: (await databases?.take()) ?? '' }, async (store) => {
    const { ndcg } = await qualityOf((await open(store)).hybrid, collection, half);
    if (Math.abs(ndcg - sqlite) > APART * sqlite) missed.push(`${set}: ${ndcg.toFixed(4)} on PostgreSQL`);
    return [ndcg.toFixed(4), `${(((ndcg - sqlite) / sqlite) * 100).toFixed(1)} %`];
  });
}

async function withStore<T>(where: Parameters<typeof openStore>[0], work: (store: Store) => Promise<T>): Promise<T> {
  const store = await openStore(where);
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}
