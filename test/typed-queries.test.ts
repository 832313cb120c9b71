import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Knowledge } from '../src/core/knowledge.ts';
import { createKnowledge } from '../src/knowledge/knowledge.ts';
import { chunkWords } from '../src/search/search.ts';
import { openStore } from '../src/store/open.ts';
import type { Store } from '../src/store/store.ts';
import { typed } from './fixtures/typed-queries.ts';
import { createDatabase, describeOnPostgres } from './helpers/postgres.ts';

const RETRIEVAL = { mode: null, finalLimit: 10, candidates: 80, fusion: 'weighted', hybridAlpha: 0.6 } as const;

/** By keywords alone: what a model would add is not needed for these. */
function testTyped(open: () => Promise<{ store: Store; end: () => Promise<void> }>): void {
  let store: Store;
  let end: () => Promise<void>;
  let knowledge: Knowledge;

  beforeAll(async () => {
    ({ store, end } = await open());
    await store.write((tx) =>
      tx.documents.replaceDocuments(
        typed.map(([sourceId, body], n) => {
          const title = /^# (.*)$/m.exec(body)?.[1] ?? sourceId;
          const words = chunkWords({ title, headings: [], text: body, path: sourceId });
          const times = { createdAt: 1, updatedAt: 1, indexedAt: 1 };
          const about = { version: 'v', hash: String(n), contentType: 'text/markdown', author: null, url: null };
          const document = { id: sourceId, source: 'filesystem:typed', sourceId, title, ...about, ...times };
          return {
            document: { ...document, tags: [], metadata: {}, body },
            chunks: [{ hash: String(n), place: {}, text: body, words }],
          };
        }),
      ),
    );
    knowledge = createKnowledge({ store, configured: [], retrieval: RETRIEVAL, embedder: null, patienceMs: 10_000 });
  });
  afterAll(() => end());

  const queries = typed.flatMap(([file, , asked]) => asked.map((query) => ({ file, query })));

  test.each([
    ['the first half', 0, 0.95],
    ['the other half', 1, 0.92],
  ])('%s is found in the first three', async (_name, half, least) => {
    const missed: string[] = [];
    const asked = queries.filter((_, i) => i % 2 === half);
    for (const { file, query } of asked) {
      const { results } = await knowledge.search({ query, limit: 3 });
      if (!results.some(({ source_id }) => source_id === file)) missed.push(query);
    }
    expect(queries.length).toBeGreaterThanOrEqual(150);
    expect({ share: 1 - missed.length / asked.length >= least, missed }).toMatchObject({ share: true });
  });

  test('says what was probably meant, and costs little once the words are known', async () => {
    const { did_you_mean } = await knowledge.search({ query: 'Incidnet paymnet gatway' });
    expect(did_you_mean).toBe('incident payment gateway');
    expect(await knowledge.search({ query: 'payment gateway' })).not.toHaveProperty('did_you_mean');
    expect((await knowledge.search({ query: 'qqqq zzzzzz' })).results).toEqual([]);
  });
}

describe('what people type, on SQLite', () => {
  testTyped(async () => {
    const store = await openStore({ path: ':memory:' });
    return { store, end: () => store.close() };
  });
});

describeOnPostgres('what people type, on PostgreSQL', () => {
  testTyped(async () => {
    const { url, drop } = await createDatabase();
    const store = await openStore({ url });
    return { store, end: () => store.close().then(drop) };
  });
});
