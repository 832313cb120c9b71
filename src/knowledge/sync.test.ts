import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { writeTwice } from '../../test/helpers/repeating-store.ts';
import { chunkQuery } from '../search/search.ts';
import { openStore } from '../store/open.ts';
import type { Store } from '../store/store.ts';
import type { Connector } from './connector.ts';
import { filesystemConnector } from './connectors/filesystem.ts';
import { Extractor } from './extract/extractor.ts';
import { type SyncOptions, syncSource } from './sync.ts';

const extractor = new Extractor();
const source = 'filesystem:docs';
let root: string;
let store: Store;
let skips: string[];

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'substrat-sync-'));
  store = await openStore({ path: ':memory:' });
  writeTwice(store);
  skips = [];
});
afterEach(async () => {
  await store.close();
  rmSync(root, { recursive: true });
});
afterAll(() => extractor.close());

/** Changed a minute ago by default, because the next sync checks very recent changes again. */
function put(path: string, text: string | Buffer, at = Date.now() - 60_000): void {
  const full = join(root, path);
  mkdirSync(dirname(full), { recursive: true });
  writeFileSync(full, text);
  utimesSync(full, at / 1000, at / 1000);
}

function connect(change: Partial<Connector> = {}): Connector {
  const rest = {
    include: ['**'],
    exclude: [],
    tags: ['t'],
    maxBytes: 1_000_000,
    gitignore: true,
    followSymlinks: false,
  };
  return { ...filesystemConnector({ source, root, ...rest }), ...change };
}

function sync(change: Partial<SyncOptions> = {}, maxTokens = 100) {
  const indexer = { extractor, limits: { maxTokens, overlapTokens: 10 }, clock: Date.now };
  const { signal } = new AbortController();
  const onSkip = (sourceId: string, reason: string) => void skips.push(`${sourceId}: ${reason}`);
  const rest = { scope: {}, dryRun: false, signal, onProgress: () => {}, onSkip };
  return syncSource({ store, connector: connect(), indexer, ...rest, ...change });
}

const ids = async () => (await store.read((tx) => tx.documents.listVersions({ source }))).map((row) => row.sourceId);
const find = async (...words: string[]) => {
  const { words: stems } = chunkQuery(words.join(' '));
  const found = await store.read((tx) => tx.documents.findChunks({ words: stems, limit: 20 }));
  const wanted = new Set(found.map(({ chunkId }) => chunkId));
  const names: string[] = [];
  for (const row of await store.read((tx) =>
    tx.documents.listDocuments({ source, afterSource: '', afterId: '', limit: 500 }),
  )) {
    const chunks = await store.read((tx) => tx.documents.listChunks({ documentId: row.id }));
    if (chunks.some(({ id }) => wanted.has(id))) names.push(row.sourceId);
  }
  return names;
};

describe('a sync', () => {
  test('indexes every document with its metadata', async () => {
    put('a.md', '---\ntags: [x]\n---\n# Guide\n\nalpha words\n', Date.parse('2026-01-02'));
    put('src/b.ts', 'export function beta() {\n  return 1;\n}\n');
    expect(await sync()).toEqual({ seen: 2, unchanged: 0, indexed: 2, chunks: 2, deleted: 0, skipped: 0 });
    const row = await store.read((tx) => tx.documents.getDocumentOf({ source, sourceId: 'a.md' }));
    expect(row).toMatchObject({
      title: 'Guide',
      tags: ['t', 'x'],
      contentType: 'text/markdown',
      updatedAt: Date.parse('2026-01-02'),
    });
    const [chunk] = await store.read((tx) => tx.documents.listChunks({ documentId: row?.id as string }));
    expect(chunk?.place).toEqual({ headings: ['Guide'], from: 1, to: 6 });
    expect(await find('alpha')).toEqual(['a.md']);
    expect(await store.read((tx) => tx.documents.getSource({ name: source }))).toMatchObject({
      state: 'synced',
      notes: null,
    });
  });

  test('a second sync changes nothing', async () => {
    for (let i = 0; i < 20; i += 1) put(`d${i}.md`, `# ${i}\n\ntext ${i}`);
    put('broken.pdf', '%PDF broken');
    await sync();
    const commits = store.commits();
    const reads: string[] = [];
    const read = async ({ sourceId }: { sourceId: string }) => {
      reads.push(sourceId);
      return null;
    };
    const counts = await sync({ connector: connect({ read }) });
    expect(counts).toEqual({ seen: 21, unchanged: 20, indexed: 0, chunks: 0, deleted: 0, skipped: 1 });
    expect(reads).toEqual([]);
    // The start and the end of the sync; in memory, each read is a commit too.
    expect(store.commits() - commits).toBeLessThanOrEqual(4);
  });

  test('indexes changed documents and removes deleted ones', async () => {
    put('same.md', 'same');
    put('changed.md', 'before');
    put('gone.md', 'gone');
    await sync();
    put('changed.md', 'afterwards', Date.now() - 30_000);
    rmSync(join(root, 'gone.md'));
    put('new.md', 'fresh');
    expect(await sync()).toMatchObject({ seen: 3, unchanged: 1, indexed: 2, deleted: 1 });
    expect(await ids()).toEqual(['changed.md', 'new.md', 'same.md']);
    expect(await find('before', 'gone')).toEqual([]);
    expect(await find('afterwards')).toEqual(['changed.md']);
  });

  test('a file that was only touched keeps its document', async () => {
    put('a.md', 'text');
    await sync();
    const before = await store.read((tx) => tx.documents.getDocumentOf({ source, sourceId: 'a.md' }));
    put('a.md', 'text', Date.now() - 30_000);
    expect(await sync()).toMatchObject({ unchanged: 1, indexed: 0 });
    const after = await store.read((tx) => tx.documents.getDocumentOf({ source, sourceId: 'a.md' }));
    expect({ ...after, version: '' }).toEqual({ ...before, version: '' });
    expect(after?.version).not.toBe(before?.version);
  });

  test('checks very recent changes again, because the file time may not show the next change', async () => {
    // A time that stays recent, however long the sync takes.
    put('a.md', 'one', Date.now() + 60_000);
    await sync();
    const { version } = (await store.read((tx) => tx.documents.listVersions({ source })))[0] ?? {};
    expect(version).toContain('~');
  });

  test('reindexes everything with other settings, and keeps ids', async () => {
    put('a.md', `${'word '.repeat(300)}`);
    await sync();
    const before = await store.read((tx) => tx.documents.getDocumentOf({ source, sourceId: 'a.md' }));
    expect(await sync({}, 50)).toMatchObject({ indexed: 1 });
    const after = await store.read((tx) => tx.documents.getDocumentOf({ source, sourceId: 'a.md' }));
    expect(after?.id).toBe(before?.id);
    expect(await sync({ scope: { full: true } }, 50)).toMatchObject({ indexed: 1, unchanged: 0 });
  });
});

describe('a broken file', () => {
  test('is reported once, does not stop the rest, and is indexed once repaired', async () => {
    put('a.md', 'fine');
    put('b.docx', 'no archive');
    put('c.md', 'x'.repeat(1_000_001));
    put('image.png', 'not looked at');
    expect(await sync()).toMatchObject({ seen: 3, indexed: 1, skipped: 2 });
    expect(skips.sort()).toEqual([
      expect.stringMatching(/^b\.docx: it cannot be read/),
      expect.stringMatching(/^c\.md: it has 1000001 bytes/),
    ]);
    expect(await store.read((tx) => tx.documents.getSource({ name: source }))).toMatchObject({
      state: 'synced',
      notes: '2 skipped',
    });
    skips = [];
    expect(await sync()).toMatchObject({ unchanged: 1, skipped: 2 });
    expect(skips).toEqual([]);
    put('c.md', 'mended', Date.now() - 30_000);
    expect(await sync()).toMatchObject({ indexed: 1, skipped: 1 });
    expect(await store.read((tx) => tx.documents.listSkipped({ source }))).toHaveLength(1);
  });

  test('stops being a document', async () => {
    put('a.md', 'fine');
    await sync();
    put('a.md', Buffer.from([1, 0, 2]), Date.now() - 30_000);
    expect(await sync()).toMatchObject({ skipped: 1 });
    expect(await ids()).toEqual([]);
  });
});

describe('a part of a source', () => {
  beforeEach(() => {
    put('old.md', 'old', Date.parse('2026-01-01'));
    put('mid.md', 'mid', Date.parse('2026-02-01'));
    put('new.md', 'new', Date.parse('2026-03-01'));
  });

  test.each<[string, SyncOptions['scope'], string[]]>([
    ['since', { since: Date.parse('2026-02-01') }, ['mid.md', 'new.md']],
    ['until', { until: Date.parse('2026-02-01') }, ['old.md']],
    ['both', { since: Date.parse('2026-01-15'), until: Date.parse('2026-02-15') }, ['mid.md']],
  ])('%s', async (_, scope, expected) => {
    await sync({ scope });
    expect(await ids()).toEqual(expected);
  });

  test('stops at a limit and continues later; a partial sync removes nothing', async () => {
    await sync({ scope: { limit: 2 } });
    expect(await ids()).toHaveLength(2);
    const kept = await ids();
    for (const id of kept) rmSync(join(root, id));
    await sync({ scope: { limit: 2 } });
    expect(await ids()).toHaveLength(3);
    await sync();
    expect(await ids()).toHaveLength(1);
  });

  test('a dry run changes nothing', async () => {
    expect(await sync({ dryRun: true })).toMatchObject({ seen: 3, indexed: 3 });
    expect(await ids()).toEqual([]);
    expect(await store.read((tx) => tx.documents.getSource({ name: source }))).toBeNull();
  });
});

describe('a source in trouble', () => {
  test('that cannot be reached keeps its documents and reports why', async () => {
    put('a.md', 'text');
    await sync();
    rmSync(root, { recursive: true });
    await expect(sync()).rejects.toMatchObject({ code: 'not_found' });
    expect(await ids()).toEqual(['a.md']);
    expect(await store.read((tx) => tx.documents.getSource({ name: source }))).toMatchObject({
      state: 'failed',
      notes: expect.stringContaining('ENOENT'),
    });
    mkdirSync(root);
  });

  test('with a part that cannot be listed keeps the documents there', async () => {
    put('open/a.md', 'a');
    put('closed/b.md', 'b');
    put('c.md', 'c');
    await sync();
    const connector = connect();
    const partial: Connector = {
      ...connector,
      async *list(listing) {
        listing.onUnlisted('closed/', 'this directory cannot be read (EACCES)');
        for await (const items of connector.list(listing))
          yield items.filter(({ sourceId }) => sourceId.startsWith('open/'));
      },
    };
    expect(await sync({ connector: partial })).toMatchObject({ seen: 1, deleted: 1 });
    expect(await ids()).toEqual(['closed/b.md', 'open/a.md']);
    expect((await store.read((tx) => tx.documents.getSource({ name: source })))?.notes).toContain('EACCES');
  });

  test('an interrupted sync resumes', async () => {
    for (let i = 0; i < 700; i += 1) put(`d${i}.md`, `text ${i}`);
    const controller = new AbortController();
    const stopping = sync({
      signal: controller.signal,
      onProgress: ({ done }) => {
        if (done >= 70) controller.abort(new Error('enough'));
      },
    });
    await expect(stopping).rejects.toThrow('enough');
    const done = (await ids()).length;
    expect(done).toBeGreaterThanOrEqual(70);
    expect(done).toBeLessThan(700);
    expect(await sync()).toMatchObject({ seen: 700, unchanged: done, indexed: 700 - done });
  });
});
