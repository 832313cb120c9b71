import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type EmbeddingServer, embeddingSettings, startEmbeddingServer } from '../../test/helpers/embedding-server.ts';
import { writeTwice } from '../../test/helpers/repeating-store.ts';
import { newId } from '../core/id.ts';
import type { Knowledge } from '../core/knowledge.ts';
import { chunkWords } from '../search/search.ts';
import { openStore } from '../store/open.ts';
import type { Store } from '../store/store.ts';
import { embedPending } from './embed-pending.ts';
import { createEmbedder, type Embedder } from './embedding.ts';
import { createKnowledge } from './knowledge.ts';

const retrieval = { mode: null, finalLimit: 12, candidates: 80, fusion: 'weighted', hybridAlpha: 0.6 } as const;
const directory = mkdtempSync(join(tmpdir(), 'search-'));
let server: EmbeddingServer;
let store: Store;
let embedder: Embedder;
let keyword: Knowledge;
let knowledge: Knowledge;

beforeAll(async () => {
  server = await startEmbeddingServer();
  store = await openStore({ path: join(directory, 'knowledge.db') });
  writeTwice(store);
  embedder = createEmbedder(embeddingSettings({ url: server.url }), { models: directory }) as Embedder;
  keyword = createKnowledge({ store, configured: [], retrieval, embedder: null });
  knowledge = createKnowledge({ store, configured: [], retrieval, embedder });
  await add('vehicles.md', 'Vehicles', ['A vehicle has wheels.', 'The engine of an automobile is loud.']);
  await add('health.md', 'Health', ['Ask your physician about it.'], { tags: '["medical"]', updatedAt: 200 });
  await add('coast.md', 'Coast', ['The ocean is deep, and a loaf floats on water.'], { source: 'git:notes' });
  await add('cpp.md', 'Languages', ['Templates of C++ are a language of their own.']);
  await add('c.md', 'Old languages', ['C is older than its children. C, C and C again.']);
  await add('names.md', 'Names', ['Call getUserName from path/to/file.ts as user@host with foo-bar.']);
  await add('route.md', 'Route', ['It has 10km.']);
  await add('errors.md', 'Errors', ['TypeError: cannot read properties of undefined (reading "id") [12]']);
  await add('phrase.md', 'Order', ['The quick start comes before the long guide for whoever wants to know all.']);
  await add('words.md', 'Disorder', ['Start, start, quick quick quick; a start or quick, and quick or start.']);
  await add('rocket.md', 'Launch', ['🚀 goes up']);
  await embedPending({ store, embedder, batch: 3 });
});
afterAll(async () => {
  await store.close();
  await server.close();
  rmSync(directory, { recursive: true });
});

async function add(name: string, title: string, texts: readonly string[], change: object = {}): Promise<void> {
  const row = {
    ...{ id: newId(), source: 'filesystem:docs', sourceId: name, version: '1', hash: '1', contentType: 'text/plain' },
    ...{ createdAt: 1, updatedAt: 100, indexedAt: 1, title, author: null, url: `https://x/${name}`, tags: [] },
    ...{ metadata: {}, body: texts.join('\n'), ...change },
  };
  const chunks = texts.map((text, i) => ({
    hash: `${name}${text}`,
    place: { headings: ['Top'], from: i + 1, to: i + 1 },
    text,
    words: chunkWords({ title, headings: ['Top'], text }),
  }));
  await store.write((tx) => tx.documents.replaceDocuments([{ document: row, chunks }]));
}

const names = async (query: string, more: object = {}, of = keyword) =>
  (await of.search({ query, mode: 'keyword', ...more })).results.map(({ source_id }) => source_id);

describe('by keyword', () => {
  test.each([
    ['foo-bar', 'names.md'],
    ['foobar', 'names.md'],
    ['C++', 'cpp.md'],
    ['10 km', 'route.md'],
    ['10 kilometres', 'route.md'],
    ['user@host', 'names.md'],
    ['path/to/file.ts', 'names.md'],
    ['file.ts', 'names.md'],
    ['get user name', 'names.md'],
    ['getUserName()', 'names.md'],
    ['TypeError: cannot read properties of undefined (reading "id") [12]', 'errors.md'],
    ['How do I call the physicians?', 'health.md'],
    ['🚀', 'rocket.md'],
    ['"quick start"', 'phrase.md'],
    ['NOT near AND "loaf', 'coast.md'],
    [`${'what follows is filler of a pasted page; '.repeat(250)} automobile engines`, 'vehicles.md'],
  ])('%.40s finds %s first', async (query, first) => {
    expect((await names(query))[0]).toBe(first);
  });

  test('without quotes, words match anywhere', async () => {
    expect((await names('quick start'))[0]).toBe('words.md');
  });

  test('no query is a syntax error', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', minLength: 1, maxLength: 80 }), async (query) => {
        if (query.trim() === '') return;
        const { results } = await keyword.search({ query });
        for (const { score } of results) expect(score >= 0 && score <= 1).toBe(true);
      }),
      { numRuns: 200 },
    );
  });

  test('a document is one result, with its best chunk and every field of seed 004', async () => {
    const { results } = await keyword.search({ query: 'vehicle engine wheels', mode: 'keyword' });
    expect(results).toEqual([
      {
        id: expect.any(String),
        score: expect.closeTo(0.87, 2),
        title: 'Vehicles',
        source: 'filesystem:docs',
        source_id: 'vehicles.md',
        updated_at: '1970-01-01T00:00:00.100Z',
        snippet: 'A vehicle has wheels.',
        source_url: 'https://x/vehicles.md',
      },
    ]);
  });

  test.each([
    [{ source: 'notes' }, ['coast.md']],
    [{ source: 'git:notes' }, ['coast.md']],
    [{ source: 'docs', tags: ['medical'] }, ['health.md']],
    [{ tags: ['medical', 'other'] }, []],
    [{ since: '1970-01-01T00:00:00.150Z' }, ['health.md']],
    [{ until: '1970-01-01T00:00:00.150Z', source: 'notes' }, ['coast.md']],
    [{ source: 'nowhere' }, []],
  ])('filters %j', async (filters, expected) => {
    for (const mode of ['keyword', 'semantic', 'hybrid'] as const) {
      const found = await names('ocean physician vehicle', { mode, filters, limit: 3 }, knowledge);
      expect(found).toEqual(expect.arrayContaining(expected));
      if (mode === 'keyword') expect(found).toEqual(expected);
      else if ('source' in filters && filters.source === 'nowhere') expect(found).toEqual([]);
    }
  });
});

describe('by meaning', () => {
  test('finds a text that uses other words', async () => {
    expect(await names('surgeon')).toEqual([]);
    expect((await names('surgeon', { mode: 'semantic' }, knowledge))[0]).toBe('health.md');
    expect((await names('surgeon', { mode: 'hybrid' }, knowledge))[0]).toBe('health.md');
    expect((await names('surgeon', { mode: undefined }, knowledge))[0]).toBe('health.md');
  });

  test('explains what a score is made of', async () => {
    const { results } = await knowledge.search({ query: 'physician', mode: 'hybrid', limit: 1, explain: true });
    expect(results[0]).toMatchObject({
      score: 1,
      explain: {
        mode: 'hybrid',
        alpha: 0.6,
        feedback: true,
        matched: ['physician'],
        chunk: { index: 0, headings: ['Top'], from: 1, to: 1 },
        keyword: { rank: 1, score: expect.closeTo(1.2, 1), bm25: expect.any(Number) },
        semantic: { rank: 1, score: 1, cosine: 1 },
      },
    });
  });

  test('a reranking model changes the order, shows its part and its cost; if it fails, the order stays', async () => {
    const likes = (word: string) => ({
      model: 'm',
      scores: async (_: string, texts: readonly string[]) => texts.map((text) => (text.includes(word) ? 1 : 0)),
    });
    const fails = { model: 'm', scores: () => Promise.reject(new Error('no weights')) };
    const ask = (reranker: typeof fails | ReturnType<typeof likes>) =>
      createKnowledge({ store, configured: [], retrieval, embedder: null, reranker }).search({
        ...{ query: 'quick start', limit: 2, explain: true },
      });
    const plain = (await keyword.search({ query: 'quick start', limit: 2 })).results.map(({ id }) => id);
    const { results, rerank } = await ask(likes('guide'));
    expect(results.map(({ source_id, explain }) => [source_id, explain?.rerank])).toEqual([
      ['phrase.md', 1],
      ['words.md', 0],
    ]);
    expect(results.map(({ id }) => id)).toEqual(plain.toReversed());
    expect(rerank).toMatchObject({ model: 'm', documents: 2, ms: expect.any(Number) });
    const failed = await ask(fails);
    expect(failed.results.map(({ id }) => id)).toEqual(plain);
    expect(failed).toMatchObject({ warning: 'Results are not reranked: no weights' });
  });

  test('a score means the same for every query: how much of it a document has', async () => {
    const best = async (query: string, mode: 'keyword' | 'hybrid') =>
      (await knowledge.search({ query, mode, limit: 1, explain: true })).results[0];
    for (const mode of ['keyword', 'hybrid'] as const) {
      const whole = await best('templates language', mode);
      const half = await best('templates unheardof', mode);
      expect(whole?.score).toBeGreaterThan(0.8 * (mode === 'hybrid' ? 0.4 : 1));
      expect(half?.score).toBeLessThan(0.8 * (whole?.score ?? 0));
    }
    const parts = (await best('surgeon unheardof', 'hybrid'))?.explain;
    // Words match nothing here, so the first results are not taken for what was meant.
    expect(parts).toMatchObject({ feedback: false, keyword: null, semantic: { rank: 1 } });
    const { score } = (await best('surgeon unheardof', 'hybrid')) as { score: number };
    expect(score).toBeCloseTo(0.6 * (parts?.semantic?.score ?? 0), 3);
  });

  test('immediately sees what another process embedded, changed and deleted', async () => {
    const other = await openStore({ path: join(directory, 'knowledge.db') });
    const find = () => names('bakery', { mode: 'semantic', limit: 1 }, knowledge);
    expect(await find()).toEqual(['coast.md']);
    const before = store;
    store = other;
    await add('bakery.md', 'Shop', ['Fresh bread']);
    await embedPending({ store: other, embedder, batch: 10 });
    expect(await find()).toEqual(['bakery.md']);
    await other.write((tx) => tx.documents.tryDeleteDocument({ source: 'filesystem:docs', sourceId: 'bakery.md' }));
    expect(await names('bakery', { mode: 'semantic', limit: 2 }, knowledge)).not.toContain('bakery.md');
    expect(await find()).toEqual(['coast.md']);
    store = before;
    await other.close();
  });

  test('embeds a chunk again only if its vector is of another model', async () => {
    server.requests.length = 0;
    expect(await embedPending({ store, embedder, batch: 10 })).toBe(0);
    expect(server.requests).toEqual([]);
    const settings = embeddingSettings({ url: server.url, model: 'another' });
    const another = createEmbedder(settings, { models: directory }) as Embedder;
    const renamed = createKnowledge({ store, configured: [], retrieval, embedder: another });
    const fallen = await renamed.search({ query: 'physician', mode: 'hybrid' });
    expect(fallen.results.length).toBeGreaterThan(0);
    expect(fallen.warning).toMatch(/keywords only.*ctx embed pending/);
    expect((await keyword.search({ query: 'physician', mode: 'hybrid' })).warning).toMatch(
      /set \[embedding\] provider/,
    );
    await expect(renamed.search({ query: 'x', mode: 'semantic' })).rejects.toMatchObject({ code: 'not_configured' });
    expect((await renamed.search({ query: 'physician' })).results[0]?.source_id).toBe('health.md');
    expect(await embedPending({ store, embedder: another, batch: 10 })).toBe(12);
    expect((await names('surgeon', { mode: 'semantic' }, renamed))[0]).toBe('health.md');
    expect(await embedPending({ store, embedder, batch: 10 })).toBe(12);
  });
});

test.each([
  [{ query: ' ' }, 'bad_request'],
  [{ query: 'x'.repeat(100_001) }, 'bad_request'],
  [{ query: 'x', limit: 0 }, 'bad_request'],
  [{ query: 'x', limit: 1.5 }, 'bad_request'],
  [{ query: 'x', filters: { since: 'yesterday' } }, 'bad_request'],
  [{ query: 'x', mode: 'semantic' as const }, 'embeddings_disabled'],
])('%.60j is refused with %s', async (request, code) => {
  await expect(keyword.search(request)).rejects.toMatchObject({ code });
});

test('get() of an unknown document throws not_found', async () => {
  await expect(keyword.get('nothing')).rejects.toMatchObject({ code: 'not_found' });
});
