import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { Document, Source } from '../core/document.ts';
import type { StoreKit } from './store.testkit.ts';
import type { NewChunk, Tx } from './store.ts';

/** One document with its chunks. */
async function putDocument(tx: Tx, document: Document, chunks: readonly NewChunk[]): Promise<string | undefined> {
  return (await tx.documents.replaceDocuments([{ document, chunks }]))[0];
}

export function testKnowledge({ read, write }: StoreKit): void {
  const newSource = () => `filesystem:${randomUUID()}`;
  const document = (source: string, sourceId: string, change: Partial<Document> = {}): Document => ({
    id: randomUUID(),
    source,
    sourceId,
    version: 'v1',
    hash: 'h1',
    contentType: 'text/plain',
    createdAt: 1,
    updatedAt: 2,
    indexedAt: 3,
    title: 'Title',
    author: null,
    url: null,
    tags: ['a'],
    metadata: { k: 1 },
    body: 'body',
    ...change,
  });
  const chunk = (text: string, title = ''): NewChunk => ({
    hash: `h-${title}-${text}`,
    place: { from: 1, to: 2 },
    text,
    words: { title, words: text },
  });
  const chunksOf = (documentId: string) => read((tx) => tx.documents.listChunks({ documentId }));
  const foundBy = (...words: string[]) =>
    read(async (tx) => {
      const found = (await tx.documents.findChunks({ words, limit: 9 })).map(({ chunkId }) => chunkId);
      const views = await tx.documents.listChunkViews({ ids: found });
      return found.map((id) => views.find((view) => view.id === id)?.documentId);
    });

  test('a document is returned as written, by id and by its name in the source', async () => {
    const row = document(newSource(), 'a/b.md', { author: 'Ann', url: 'https://x/a' });
    expect(await write((tx) => putDocument(tx, row, [chunk('one'), chunk('two')]))).toBe(row.id);
    expect(await read((tx) => tx.documents.getDocument({ id: row.id }))).toEqual(row);
    expect(await read((tx) => tx.documents.getDocumentOf({ source: row.source, sourceId: 'a/b.md' }))).toEqual(row);
    expect(await read((tx) => tx.documents.getDocument({ id: 'none' }))).toBeNull();
    expect(await read((tx) => tx.documents.getDocumentHash({ source: row.source, sourceId: 'a/b.md' }))).toBe('h1');
    expect(await chunksOf(row.id)).toMatchObject([
      { idx: 0, text: 'one', place: { from: 1, to: 2 }, documentId: row.id },
      { idx: 1, text: 'two' },
    ]);
  });

  test('a replaced document keeps its id, and unchanged chunks keep their keys', async () => {
    const row = document(newSource(), 'a');
    const word = `w${randomUUID().replaceAll('-', '')}`;
    await write((tx) =>
      putDocument(
        tx,
        row,
        ['one', 'same', `${word} gone`, 'same'].map((text) => chunk(text)),
      ),
    );
    const before = await chunksOf(row.id);
    const changed = { ...row, id: randomUUID(), hash: 'h2', body: 'new', title: null, createdAt: 9 };
    const texts = ['new', 'same', 'one', 'same', 'same'];
    expect(
      await write((tx) =>
        putDocument(
          tx,
          changed,
          texts.map((text) => chunk(text)),
        ),
      ),
    ).toBe(row.id);
    expect(await read((tx) => tx.documents.getDocument({ id: row.id }))).toEqual({
      ...changed,
      id: row.id,
      createdAt: 1,
    });
    const after = await chunksOf(row.id);
    expect(after.map(({ text }) => text)).toEqual(texts);
    expect(after.map(({ idx }) => idx)).toEqual([0, 1, 2, 3, 4]);
    expect([after[1], after[2], after[3]].map((one) => one?.id)).toEqual(
      [before[1], before[0], before[3]].map((one) => one?.id),
    );
    expect(after[0]?.id).toBeGreaterThan(before[3]?.id as number);
    expect(await foundBy(word)).toEqual([]);
  });

  test('chunks are found by words of title and text, more matches first', async () => {
    const [source, one, two] = [newSource(), ...[1, 2].map(() => `w${randomUUID().replaceAll('-', '')}`)] as const;
    const rows = ['x', 'y', 'z'].map((name) => document(source, name));
    const ids = rows.map(({ id }) => id);
    await write(async (tx) => {
      await putDocument(tx, rows[0] as Document, [chunk(`${one} here`)]);
      await putDocument(tx, rows[1] as Document, [chunk(`${one} ${two}`), chunk('nothing')]);
      await putDocument(tx, rows[2] as Document, [chunk('elsewhere', two as string)]);
    });
    const found = await foundBy(one as string, two as string);
    expect(found[0]).toBe(ids[1]);
    expect(new Set(found)).toEqual(new Set(ids));
    expect(await foundBy('or', 'not', 'near')).toEqual([]);
  });

  test('a deleted document is removed from every index', async () => {
    const row = document(newSource(), 'a');
    const word = `w${randomUUID().replaceAll('-', '')}`;
    await write((tx) => putDocument(tx, row, [chunk(word)]));
    const count = async () => (await read((tx) => tx.documents.countChunks())) as number;
    const before = await count();
    const remove = () => write((tx) => tx.documents.tryDeleteDocument({ source: row.source, sourceId: 'a' }));
    expect(await remove()).toBe(true);
    expect(await remove()).toBe(false);
    expect(await count()).toBe(before - 1);
    expect(await foundBy(word)).toEqual([]);
    expect(await read((tx) => tx.documents.getDocument({ id: row.id }))).toBeNull();
  });

  test('a document that fails half-way leaves the previous one unchanged', async () => {
    const row = document(newSource(), 'a');
    await write((tx) => putDocument(tx, row, [chunk('old')]));
    const broken = [chunk('new'), { ...chunk('bad'), text: null as unknown as string }];
    await expect(write((tx) => putDocument(tx, { ...row, hash: 'h2' }, broken))).rejects.toThrow();
    expect(await read((tx) => tx.documents.getDocument({ id: row.id }))).toEqual(row);
    expect((await chunksOf(row.id)).map(({ text }) => text)).toEqual(['old']);
  });

  test("a source's documents are listed in order, in pages, and counted", async () => {
    const [source, other] = [newSource(), newSource()].sort() as [string, string];
    await write(async (tx) => {
      await tx.documents.replaceDocuments(
        ['b', 'a', 'c'].map((name) => ({ document: document(source, name), chunks: [chunk(name)] })),
      );
      await putDocument(tx, document(other, 'a'), []);
    });
    await write((tx) => tx.documents.setDocumentVersion({ source, sourceId: 'b', version: 'v2' }));
    expect(await read((tx) => tx.documents.listVersions({ source }))).toEqual([
      { sourceId: 'a', version: 'v1' },
      { sourceId: 'b', version: 'v2' },
      { sourceId: 'c', version: 'v1' },
    ]);
    const page = async (of: string, afterSource: string, afterId: string, limit = 9) =>
      (await read((tx) => tx.documents.listDocuments({ source: of, afterSource, afterId, limit }))).map(
        (row) => row.sourceId,
      );
    expect(await page(source, '', '', 2)).toEqual(['a', 'b']);
    expect(await page(source, source, 'b')).toEqual(['c']);
    expect((await page('', source, 'b', 2))[0]).toBe('c');
    const counts = await read((tx) => tx.documents.listSourceCounts());
    expect(counts.find((one) => one.source === source)).toEqual({ source, documents: 3 });
  });

  test('a skipped document is stored with its reason until it is forgotten', async () => {
    const source = newSource();
    const row = { source, sourceId: 'a', version: 'v1', reason: 'broken', at: 1 };
    await write((tx) => tx.documents.putSkipped(row));
    await write((tx) => tx.documents.putSkipped({ ...row, version: 'v2', reason: 'too large', at: 2 }));
    const list = () => read((tx) => tx.documents.listSkipped({ source }));
    expect(await list()).toEqual([{ ...row, version: 'v2', reason: 'too large', at: 2 }]);
    expect(await write((tx) => tx.documents.tryDeleteSkipped({ source, sourceId: 'a' }))).toBe(true);
    expect(await list()).toEqual([]);
  });

  test('a source is stored, changed and deleted', async () => {
    const name = newSource();
    const row: Source = { name, state: 'syncing', checkpoint: null, notes: null, startedAt: 1, syncedAt: null };
    const done: Source = { ...row, state: 'synced', checkpoint: '{"at":1}', notes: '2 skipped', syncedAt: 2 };
    await write((tx) => tx.documents.putSource(row));
    expect(await read((tx) => tx.documents.getSource({ name }))).toEqual(row);
    await write((tx) => tx.documents.putSource(done));
    expect((await read((tx) => tx.documents.listSources())).filter((one) => one.name === name)).toEqual([done]);
    expect(await write((tx) => tx.documents.tryDeleteSource({ name }))).toBe(true);
    expect(await read((tx) => tx.documents.getSource({ name }))).toBeNull();
  });
}
