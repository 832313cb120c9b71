import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { createDatabase, describeOnPostgres } from '../../test/helpers/postgres.ts';
import { PHRASE_WEIGHT } from './chunk-query.ts';
import { indexedColumns } from './fulltext.ts';
import { openStore } from './open.ts';
import type { Store, Tx } from './store.ts';

interface Text {
  readonly title: readonly string[];
  readonly words: readonly string[];
}

/** Fixed texts of 1 to 45 words. Words repeat, in titles too, and the smaller the number, the more common the word. */
const texts: readonly Text[] = Array.from({ length: 120 }, (_, n) => ({
  title: wordsFrom(n, 1 + (n % 3)),
  words: wordsFrom(1000 + n, 1 + ((n * 7) % 45)),
}));
/** As many as the statistics of a server are used for. Of the added words, one is in 250 chunks and one in 10. */
const many: readonly Text[] = Array.from({ length: 10_000 }, (_, n) => ({
  title: wordsFrom(n, 2),
  words: [`some${n % 40}`, ...wordsFrom(20_000 + n, 4 + (n % 9)), `few${(n * 7) % 1000}`],
}));
const queries: readonly { readonly words: string[]; readonly phrases: string[][] }[] = [
  { words: ['w0', 'w9'], phrases: [] },
  { words: ['w3', 'w17', 'w25', 'w1'], phrases: [] },
  { words: ['w8', 'nowhere'], phrases: [] },
  { words: ['w0', 'w1'], phrases: [['w0', 'w1']] },
  { words: ['w2', 'w4'], phrases: [['w0', 'w2']] },
];

describe('SQLite', () => {
  test('chunks are ranked by BM25', async () => {
    const store = await openStore({ path: ':memory:' });
    try {
      await expectBm25(store);
    } finally {
      await store.close();
    }
  });
});

describeOnPostgres('PostgreSQL', () => {
  test('chunks are ranked by BM25, with the scores of SQLite', async () => {
    const { url, drop } = await createDatabase();
    const store = await openStore({ url });
    try {
      await expectBm25(store);
    } finally {
      await store.close();
      await drop();
    }
  });

  test('frequent words, which the server only estimates, leave the first results as BM25 ranks them', async () => {
    const { url, drop } = await createDatabase();
    const store = await openStore({ url });
    const client = new pg.Client({ connectionString: url });
    try {
      await client.connect();
      await client.query(
        'insert into chunk_words (rowid, words) select * from unnest($1::bigint[], $2::text[]::tsvector[])',
        [
          many.map((_, n) => n),
          many.map(
            ({ title, words }) => indexedColumns('postgres', { title: title.join(' '), words: words.join(' ') }).words,
          ),
        ],
      );
      await client.query('analyze chunk_words');
      for (const words of [
        ['w0', 'some5', 'few3'],
        ['some1', 'w3', 'w0', 'few7', 'w1'],
        ['w2', 'some9', 'w4'],
        ['few1', 'w0'],
      ]) {
        const found = await store.read((tx) => tx.documents.findChunks({ words, limit: 9 }));
        const expected = bm25({ words, phrases: [] }, many).slice(0, 9);
        expect(found.map(({ chunkId }) => chunkId)).toEqual(expected.map(({ n }) => n));
        for (const [i, { score }] of found.entries()) expect(score).toBeCloseTo(expected[i]?.score as number, 2);
      }
      const common = await store.read((tx) => tx.documents.findChunks({ words: ['w0', 'w9'], limit: 50 }));
      expect(common).toHaveLength(50);
      for (const { chunkId } of common) expect(wordsOf(many[chunkId] as Text)).toContain('w9');
      const mixed = await store.read((tx) => tx.documents.findChunks({ words: ['few1', 'w9'], limit: 50 }));
      expect(mixed).toHaveLength(50);
      for (const { chunkId } of mixed.slice(0, 10)) expect(wordsOf(many[chunkId] as Text)).toContain('few1');
    } finally {
      await client.end();
      await store.close();
      await drop();
    }
  });

  test('a word counts as often as it is in a chunk, up to the 255 positions that the server stores', async () => {
    const { url, drop } = await createDatabase();
    const [onServer, here] = [await openStore({ url }), await openStore({ path: ':memory:' })];
    try {
      const times = [1, 2, 3, 4, 7, 20, 60, 130, 200, 254, 255];
      const repeated = times.map((n) => ({ title: [], words: [...Array<string>(n).fill('often'), 'x', `y${n}`] }));
      const others = Array.from({ length: 30 }, () => ({ title: [], words: ['x'] }));
      for (const store of [onServer, here]) await fill(store, [...repeated, ...others]);
      const find = (store: Store) =>
        store.read((tx) => tx.documents.findChunks({ words: ['often', 'y60'], limit: times.length }));
      const [found, expected] = [await find(onServer), await find(here)];
      expect(expected).toHaveLength(times.length);
      // A transaction that is repeated takes other ids.
      const places = (of: readonly { chunkId: number }[]) => {
        const first = Math.min(...of.map(({ chunkId }) => chunkId));
        return of.map(({ chunkId }) => chunkId - first);
      };
      expect(places(found)).toEqual(places(expected));
      for (const [i, { score }] of found.entries()) expect(score).toBeCloseTo(expected[i]?.score as number, 6);
    } finally {
      await onServer.close();
      await here.close();
      await drop();
    }
  });

  test('the totals follow chunks that come and go, across connections and restarts', async () => {
    const { url, drop } = await createDatabase();
    let store = await openStore({ url });
    const client = new pg.Client({ connectionString: url });
    try {
      await client.connect();
      expect(await totalsIn(client)).toEqual({ chunks: 0, words: 0 });
      await fill(store);
      const words = texts.reduce((sum, text) => sum + text.title.length + text.words.length, 0);
      expect(await totalsIn(client)).toEqual({ chunks: texts.length, words });
      const remove = (n: number) =>
        store.write((tx) => tx.documents.tryDeleteDocument({ source: sourceOf(n), sourceId: String(n) }));
      await Promise.all(Array.from({ length: 60 }, (_, n) => remove(n)));
      await store.close();
      store = await openStore({ url });
      expect((await client.query('select backend from chunk_totals')).rows).toEqual([{ backend: 0 }]);
      for (let n = 60; n < texts.length - 1; n += 1) await remove(n);
      const last = texts.at(-1) as Text;
      expect(await totalsIn(client)).toEqual({ chunks: 1, words: last.title.length + last.words.length });
    } finally {
      await client.end();
      await store.close();
      await drop();
    }
  });

  test('a sync does not wait for the open transaction of another', async () => {
    const { url, drop } = await createDatabase();
    const [one, other] = [await openStore({ url }), await openStore({ url })];
    const client = new pg.Client({ connectionString: url });
    try {
      await client.connect();
      const { promise: gate, resolve: open } = Promise.withResolvers<void>();
      const { promise: written, resolve: wrote } = Promise.withResolvers<void>();
      const first = one.write(async (tx) => {
        await put(tx, 0);
        wrote();
        await gate;
      });
      await written;
      const second = other.write((tx) => put(tx, 1));
      const late = sleep(1_000, 'late', { ref: false });
      const winner = await Promise.race([second.then(() => 'committed'), late]);
      open();
      expect(winner).toBe('committed');
      // Its snapshot is from before the second one's commit.
      await first;
      expect(one.commits()).toBe(1);
      const [a, b] = texts as [Text, Text];
      expect(await totalsIn(client)).toEqual({ chunks: 2, words: wordsOf(a).length + wordsOf(b).length });
    } finally {
      await client.end();
      await Promise.all([one.close(), other.close()]);
      await drop();
    }
  });

  test('searches work with wrong totals', async () => {
    const { url, drop } = await createDatabase();
    const store = await openStore({ url });
    const client = new pg.Client({ connectionString: url });
    try {
      await client.connect();
      await fill(store);
      for (const wrong of [
        'update chunk_totals set chunks = 0',
        'update chunk_totals set words = 0, chunks = -5',
        'delete from chunk_totals',
      ]) {
        await client.query(wrong);
        const found = await store.read((tx) => tx.documents.findChunks({ words: ['w0', 'w9'], limit: 9 }));
        expect(found).toHaveLength(9);
        for (const { score } of found) expect(score).toBeGreaterThan(0);
      }
    } finally {
      await client.end();
      await store.close();
      await drop();
    }
  });
});

async function expectBm25(store: Store): Promise<void> {
  await fill(store);
  for (const query of queries) {
    const expected = bm25(query);
    expect(expected.length).toBeGreaterThan(10);
    for (const source of [null, 'docs:odd'] as const) {
      const filter = { source, tags: [], since: null, until: null };
      const found = await store.read((tx) => tx.documents.findChunks({ ...query, limit: 200, filter }));
      const wanted = expected.filter(({ n }) => source === null || n % 2 === 1);
      const texted = await store.read((tx) => tx.documents.listChunkViews({ ids: found.map((one) => one.chunkId) }));
      const nOf = new Map(texted.map((view) => [view.id, Number(view.sourceId)]));
      expect(found.map(({ chunkId }) => nOf.get(chunkId))).toEqual(wanted.map(({ n }) => n));
      for (const [i, { score }] of found.entries()) expect(score).toBeCloseTo(wanted[i]?.score as number, 6);
    }
  }
}

async function fill(store: Store, filled: readonly Text[] = texts): Promise<void> {
  await store.write(async (tx) => {
    for (const [n, text] of filled.entries()) await put(tx, n, text);
  });
}

async function put(tx: Tx, n: number, { title, words } = texts[n] as Text): Promise<void> {
  const rest = { version: '1', contentType: 'text/plain', createdAt: 1, updatedAt: 1, indexedAt: 1, title: 't' };
  const none = { author: null, url: null, tags: [], metadata: {} };
  const id = `d${n}`;
  const row = { id, source: sourceOf(n), sourceId: String(n), hash: id, body: 'x' };
  const chunks = [{ hash: id, place: {}, text: 'x', words: { title: title.join(' '), words: words.join(' ') } }];
  await tx.documents.replaceDocuments([{ document: { ...row, ...rest, ...none }, chunks }]);
}

function sourceOf(n: number): string {
  return n % 2 === 1 ? 'docs:odd' : 'docs:even';
}

async function totalsIn(client: pg.Client): Promise<{ chunks: number; words: number }> {
  const sums = 'sum(chunks)::integer as chunks, sum(words)::integer as words';
  return (await client.query(`select ${sums} from chunk_totals`)).rows[0];
}

/** As in the literature, over title and text, with FTS5's weights; a phrase is a term of its own. */
function bm25({ words, phrases }: (typeof queries)[number], of = texts): { n: number; score: number }[] {
  const terms = [...words.map((word) => [word]), ...phrases.flatMap((p) => Array<string[]>(PHRASE_WEIGHT).fill(p))];
  const lengths = of.map((text) => text.title.length + text.words.length);
  const mean = lengths.reduce((sum, length) => sum + length, 0) / of.length;
  const timesOf = (term: readonly string[]) =>
    of.map(({ title, words: own }) => timesIn(title, term) + timesIn(own, term));
  const parts = terms.map((term) => {
    const times = timesOf(term);
    const having = times.filter((n) => n > 0).length;
    const weight = Math.max(1e-6, Math.log((of.length - having + 0.5) / (having + 0.5)));
    return times.map((n, i) => (weight * n * 2.2) / (n + 1.2 * (0.25 + (0.75 * (lengths[i] as number)) / mean)));
  });
  return of
    .map((_, n) => ({ n, score: parts.reduce((sum, part) => sum + (part[n] as number), 0) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || a.n - b.n);
}

function wordsOf({ title, words }: Text): readonly string[] {
  return [...title, ...words];
}

function timesIn(words: readonly string[], term: readonly string[]): number {
  return words.filter((_, at) => term.every((word, i) => words[at + i] === word)).length;
}

function wordsFrom(seed: number, count: number): string[] {
  let state = seed;
  return Array.from({ length: count }, () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return `w${Math.floor(30 * (state / 2_147_483_648) ** 2)}`;
  });
}
