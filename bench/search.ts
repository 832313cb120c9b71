import { join } from 'node:path';
import Database from 'better-sqlite3';
import { createKnowledge } from '../src/knowledge/knowledge.ts';
import { toBytes } from '../src/knowledge/vector.ts';
import { chunkVectors, createVectorCache } from '../src/knowledge/vector-cache.ts';
import { openStore } from '../src/store/open.ts';
import type { Store } from '../src/store/store.ts';
import { loadedEmbedder } from './local-embedder.ts';
import { alternate, type Bench, compared, cpuOf, median, percentile, type Row } from './measure.ts';
import { fillPostgres } from './search-postgres.ts';

const CHUNKS = process.argv.includes('--short') ? 20_000 : 100_000;
const CHUNKS_PER_DOCUMENT = 10;
const WORDS = 50_000;
const LENGTH = 120;
const SEARCHES = 30;
const LIMIT = 12;
const DIMENSION = 384;
const MODEL = 'bench';
const RETRIEVAL = { mode: null, finalLimit: LIMIT, candidates: 80, fusion: 'weighted', hybridAlpha: 0.6 } as const;

/**
 * Search of 100,000 chunks: by keyword compared with the same query on FTS5 directly, semantic compared with a plain
 * scan.
 */
export default async function search({ scratch, defer }: Bench): Promise<Row[]> {
  const path = join(scratch, 'search.db');
  await (await openStore({ path })).close();
  const vectors = fill(path);
  const store = await openStore({ path });
  defer(() => store.close());
  const raw = new Database(path, { readonly: true });
  defer(() => raw.close());

  const knowledge = createKnowledge({ store, configured: [], retrieval: RETRIEVAL, embedder: null });
  const byHand = raw.prepare(`
    select d.id, d.title, d.source, d.source_id, d.updated_at, d.url, c.text, found.score
    from (select rowid, bm25(chunk_words) as score from chunk_words where chunk_words match ? order by score limit ${LIMIT}) as found
    cross join chunks as c on c.id = found.rowid cross join documents as d on d.id = c.document_id`);
  const match = (query: string) =>
    query
      .split(' ')
      .map((one) => `"${one}"`)
      .join(' OR ');
  const queries = Array.from({ length: SEARCHES }, (_, i) => Array.from({ length: 2 + (i % 7) }, word).join(' '));
  const words = await compare(
    queries,
    async (query) => byHand.all(match(query)),
    (query) => knowledge.search({ query, mode: 'keyword' }),
  );

  const cache = createVectorCache(store, chunkVectors(MODEL));
  const asked = Array.from({ length: SEARCHES }, (_, i) => near(vectors, i * 997));
  const meaning = await compare(
    asked,
    async (vector) => scan(vectors, vector),
    (vector) => cache.nearest(vector, LIMIT),
  );
  let found = 0;
  for (const vector of asked) {
    const keys = new Set((await cache.nearest(vector, 10)).map(({ key }) => key));
    found += scan(vectors, vector)
      .slice(0, 10)
      .filter((key) => keys.has(key)).length;
  }
  return [
    { name: `keyword search, 2 to 8 words, ${CHUNKS} chunks, p50`, unit: 'ms', ...words, goalOf: 'ratio', atMost: 1.3 },
    {
      ...{ name: `semantic search, ${CHUNKS} x ${DIMENSION}, against a Float32 scan, p50`, unit: 'ms', ...meaning },
      ...{ goalOf: 'ratio', atMost: 0.3 },
    },
    {
      ...{ name: 'semantic search, recall@10', unit: '', yardstick: null, result: found / (10 * SEARCHES) },
      ...{ goalOf: 'result', atLeast: 0.98 },
    },
    ...(await cpuRows(store, '')),
    ...(await onPostgres({ defer, raw, vectors, queries, asked })),
  ];
}

/** What one search costs, the model's work on the query and the database server's included. */
async function cpuRows(store: Store, where: string, serverMs: () => Promise<number> = async () => 0): Promise<Row[]> {
  const model = await loadedEmbedder();
  const embedder = model && { ...model, model: MODEL };
  const knowledge = createKnowledge({ store, configured: [], retrieval: RETRIEVAL, embedder });
  const queries = Array.from({ length: 100 }, (_, i) => Array.from({ length: 2 + (i % 7) }, word).join(' '));
  const rows: Row[] = [];
  for (const [mode, atMost] of [
    ['keyword', 100],
    ['hybrid', 150],
  ] as const) {
    if (mode === 'hybrid' && !embedder) continue;
    await knowledge.search({ query: 'w1 w2', mode });
    const server: number[] = [];
    const own = await cpuOf(queries, async (query) => {
      const before = await serverMs();
      await knowledge.search({ query, mode });
      server.push((await serverMs()) - before);
    });
    const result = percentile(
      own.map((ms, i) => ms + (server[i] as number)),
      95,
    );
    const name = `${mode} search${where}, ${CHUNKS} chunks, CPU p95`;
    rows.push({ name, unit: 'ms', yardstick: null, result, goalOf: 'result', atMost });
  }
  return rows;
}

interface Filled {
  readonly defer: Bench['defer'];
  readonly raw: Database.Database;
  readonly vectors: Float32Array;
  readonly queries: readonly string[];
  readonly asked: readonly Float32Array[];
}

/**
 * The same chunks and queries on PostgreSQL, compared with the same query on its full-text search directly, and the
 * same scan.
 */
async function onPostgres({ defer, raw, vectors, queries, asked }: Filled): Promise<Row[]> {
  const filled = await fillPostgres(raw, { model: MODEL, dimension: DIMENSION, vectors }, defer);
  if (!filled) return [];
  const { store, client, serverMs } = filled;
  const knowledge = createKnowledge({ store, configured: [], retrieval: RETRIEVAL, embedder: null });
  const byHand = (query: string) =>
    client.query({
      name: 'by-hand',
      text: `select d.id, d.title, d.source, d.source_id, d.updated_at, d.url, c.text, found.score
        from (select rowid, ts_rank(words, $1::tsquery) as score from chunk_words where words @@ $1::tsquery
              order by score desc limit ${LIMIT}) as found
        join chunks as c on c.id = found.rowid join documents as d on d.id = c.document_id order by found.score desc`,
      values: [query.split(' ').join(' | ')],
    });
  const words = await compare(queries, byHand, (query) => knowledge.search({ query, mode: 'keyword' }));
  const cache = createVectorCache(store, chunkVectors(MODEL));
  const meaning = await compare(
    asked,
    async (vector) => scan(vectors, vector),
    (vector) => cache.nearest(vector, LIMIT),
  );
  const name = 'on PostgreSQL';
  return [
    { name: `keyword search ${name}, ${CHUNKS} chunks, p50`, unit: 'ms', ...words, goalOf: 'ratio', atMost: 1.3 },
    { name: `semantic search ${name}, ${CHUNKS} chunks, p50`, unit: 'ms', ...meaning, goalOf: 'ratio', atMost: 0.3 },
    ...(await cpuRows(store, ` ${name}`, serverMs)),
  ];
}

async function compare<T>(
  asked: readonly T[],
  yardstick: (one: T) => Promise<unknown>,
  ours: (one: T) => Promise<unknown>,
) {
  const time = (ask: typeof ours) => async () => {
    const took: number[] = [];
    for (const one of asked) {
      const begin = performance.now();
      await ask(one);
      took.push(performance.now() - begin);
    }
    return median(took);
  };
  await time(yardstick)();
  await time(ours)();
  const measured = await alternate(time(yardstick), time(ours));
  return compared(measured);
}

/** Fills the store in one direct transaction. Returns the vectors, concatenated. */
function fill(path: string): Float32Array {
  const database = new Database(path);
  database.pragma('synchronous = off');
  const document = database.prepare(`
    insert into documents (id, source, source_id, version, hash, content_type, created_at, updated_at, indexed_at, title, tags, metadata, body)
    values (?, 'bench:docs', ?, '1', '1', 'text/plain', 0, 0, 0, ?, '[]', '{}', '')`);
  const chunk = database.prepare(
    "insert into chunks (id, document_id, idx, hash, place, text) values (?, ?, ?, '1', '{}', ?)",
  );
  const index = database.prepare('insert into chunk_words (rowid, title, words) values (?, ?, ?)');
  const vector = database.prepare(`
    insert into chunk_vectors (chunk_id, model, dimension, hash, vector, seq) values (?, '${MODEL}', ${DIMENSION}, '1', ?, ?)`);
  const vectors = new Float32Array(CHUNKS * DIMENSION);
  database.transaction(() => {
    let title = '';
    for (let id = 1; id <= CHUNKS; id += 1) {
      const idx = (id - 1) % CHUNKS_PER_DOCUMENT;
      const of = `d${Math.ceil(id / CHUNKS_PER_DOCUMENT)}`;
      if (idx === 0) {
        title = Array.from({ length: 4 }, word).join(' ');
        document.run(of, of, title);
      }
      const text = Array.from({ length: LENGTH }, word).join(' ');
      chunk.run(id, of, idx, text);
      index.run(id, title, text);
      const own = vectors.subarray((id - 1) * DIMENSION, id * DIMENSION);
      randomise(own, vectors, id);
      vector.run(id, toBytes(own), id);
    }
    database.prepare('update vector_state set seq = ?').run(CHUNKS);
  })();
  database.close();
  return vectors;
}

/** In clusters, like real embeddings: each is near one of the first ones. */
function randomise(own: Float32Array, vectors: Float32Array, id: number): void {
  const centre = (id % 500) * DIMENSION;
  for (let i = 0; i < DIMENSION; i += 1) {
    const noise = random() + random() + random() - 1.5;
    own[i] = id <= 500 ? noise : 0.05 * noise + (vectors[centre + i] as number);
  }
  const length = Math.hypot(...own);
  for (let i = 0; i < DIMENSION; i += 1) own[i] = (own[i] as number) / length;
}

function near(vectors: Float32Array, n: number): Float32Array {
  const own = vectors.slice(n * DIMENSION, (n + 1) * DIMENSION).map((value) => value + 0.04 * (random() - 0.5));
  const length = Math.hypot(...own);
  return own.map((value) => value / length);
}

/** An exact scan with Float32, as one would write it. */
function scan(vectors: Float32Array, vector: Float32Array): number[] {
  const best: { key: number; score: number }[] = [];
  for (let n = 0; n < CHUNKS; n += 1) {
    let score = 0;
    const from = n * DIMENSION;
    for (let i = 0; i < DIMENSION; i += 1) score += (vectors[from + i] as number) * (vector[i] as number);
    if (best.length === LIMIT && score <= (best[LIMIT - 1]?.score ?? 0)) continue;
    best.push({ key: n + 1, score });
    best.sort((a, b) => b.score - a.score);
    best.length = Math.min(best.length, LIMIT);
  }
  return best.map(({ key }) => key);
}

let state = 1;

function random(): number {
  state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
  return state / 2_147_483_648;
}

/** The same words in every run, some common and most rare. */
function word(): string {
  return `w${Math.floor(WORDS * random() ** 3)}`;
}
