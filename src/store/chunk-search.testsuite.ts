import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { Document } from '../core/document.ts';
import type { StoreKit } from './store.testkit.ts';
import type { ChunkFilter } from './views.ts';

const ANY: ChunkFilter = { source: null, tags: [], since: null, until: null };

export function testChunkSearch({ read, write }: StoreKit): void {
  test('the words of the index are listed in order, and those that no chunk has are told', async () => {
    const [a, b] = [`aaa${newWord()}`, `aab${newWord()}`];
    await add([`${b} ${a}`]);
    const after = (await read((tx) => tx.documents.listTerms({ after: 'aaa', limit: 1000 }))).filter((term) =>
      [a, b].includes(term),
    );
    expect(after).toEqual([a, b]);
    expect(await read((tx) => tx.documents.listTerms({ after: a, limit: 1 }))).not.toContain(a);
    expect(await read((tx) => tx.documents.listUnknownWords({ words: [a, 'nowhere', b] }))).toEqual(['nowhere']);
  });

  const newWord = () => `w${randomUUID().replaceAll('-', '')}`;
  /** Adds a document with one chunk per text. Returns the keys of the chunks. */
  const add = async (texts: readonly string[], change: Partial<Document> = {}): Promise<number[]> =>
    write(async (tx) => {
      const keys: number[] = [];
      for (const text of texts) {
        const row: Document = {
          id: randomUUID(),
          source: 'git:docs',
          sourceId: randomUUID(),
          version: '1',
          hash: '1',
          contentType: 'text/plain',
          createdAt: 1,
          updatedAt: 5,
          indexedAt: 1,
          title: 'A title',
          author: null,
          url: 'https://x/y',
          tags: ['a', 'b'],
          metadata: {},
          body: text,
          ...change,
        };
        const chunk = { hash: `h${text}`, place: {}, text, words: { title: '', words: text } };
        await tx.documents.replaceDocuments([{ document: row, chunks: [chunk] }]);
        keys.push((await tx.documents.listChunks({ documentId: row.id }))[0]?.id as number);
      }
      return keys;
    });
  const find = async (words: string[], more: { phrases?: string[][]; filter?: ChunkFilter; limit?: number } = {}) =>
    (await read((tx) => tx.documents.findChunks({ words, limit: 9, ...more }))).map(({ chunkId }) => chunkId);

  test('findChunks() ranks more words above fewer, and rare ones in a short text above the rest', async () => {
    const [rare, common] = [newWord(), newWord()];
    const keys = await add([
      `${common} x`,
      `${rare} x`,
      `${common} ${rare}`,
      `${common} y`,
      `${common} z`,
      `${rare} ${'filler '.repeat(40).trim()}`,
      'nothing of it',
    ]);
    const found = await find([common, rare]);
    expect(found.slice(0, 2)).toEqual([keys[2], keys[1]]);
    expect(new Set(found)).toEqual(new Set(keys.slice(0, 6)));
    const scores = (await read((tx) => tx.documents.findChunks({ words: [common, rare], limit: 2 }))).map(
      ({ score }) => score,
    );
    expect(scores).toHaveLength(2);
    expect(scores[0]).toBeGreaterThan(scores[1] as number);
  });

  test('findChunks() ranks a phrase above its words, however often they occur', async () => {
    const [one, two] = [newWord(), newWord()];
    const keys = await add([
      `${one} and ${two} ${`${one} x ${two} `.repeat(10).trim()}`,
      `a long text with many other words that has ${one} ${two} once`,
      `${two} ${one}`,
    ]);
    expect((await find([one, two], { phrases: [[one, two]] }))[0]).toBe(keys[1]);
    expect((await find([one, two]))[0]).not.toBe(keys[1]);
  });

  test('findChunks() and listChunkKeys() apply the filter', async () => {
    const word = newWord();
    const name = newWord();
    const [here] = await add([`${word} here`], { source: `git:${name}`, tags: ['a', 'b'], updatedAt: 100 });
    const [there] = await add([`${word} there`], { source: `s3:${name}`, tags: ['b', 'c'], updatedAt: 200 });
    const [away] = await add([`${word} away`], { source: 'git:other', tags: [], updatedAt: 300 });
    const cases: [Partial<ChunkFilter>, (number | undefined)[]][] = [
      [{}, [here, there, away]],
      [{ source: name }, [here, there]],
      [{ source: `s3:${name}` }, [there]],
      [{ source: `git:${name}`, tags: ['a', 'b'] }, [here]],
      [{ tags: ['b'] }, [here, there]],
      [{ tags: ['b', 'nope'] }, []],
      [{ since: 200 }, [there, away]],
      [{ since: 100, until: 200 }, [here]],
      [{ source: "x' or 1=1" }, []],
    ];
    for (const [filter, keys] of cases) {
      expect((await find([word], { filter: { ...ANY, ...filter } })).sort()).toEqual(keys.toSorted());
      const listed = await read((tx) => tx.documents.listChunkKeys({ filter: { ...ANY, ...filter } }));
      expect(listed.filter((key) => [here, there, away].includes(key))).toEqual(keys.toSorted());
    }
    expect(await find([word], { filter: { ...ANY, source: name }, limit: 1 })).toHaveLength(1);
  });

  test('findChunks() treats no word as query syntax, and no words as no result', async () => {
    expect(await find([])).toEqual([]);
    for (const word of ['or', 'and', 'not', 'near', '🚀', '東京', 'हिन्दी'])
      await find([word], { phrases: [[word, 'x']] });
    const [key] = await add(['🚀 東京']);
    expect(await find(['🚀'])).toContain(key);
  });

  test('listChunkViews() returns chunks that still exist', async () => {
    const [key] = (await add(['a text'])) as [number];
    expect(await read((tx) => tx.documents.listChunkViews({ ids: [] }))).toEqual([]);
    expect(await read((tx) => tx.documents.listChunkViews({ ids: [key, 999_999_999, key] }))).toMatchObject([
      { id: key, idx: 0, text: 'a text', title: 'A title', source: 'git:docs', url: 'https://x/y', updatedAt: 5 },
    ]);
  });

  test('vectors are stored for unchanged chunks, and read in the order in which they were stored', async () => {
    const [model, other] = [newWord(), newWord()];
    const [one, two] = (await add(['first text', 'second text'])) as [number, number];
    const vector = (...values: number[]) => Buffer.from(Float32Array.from(values).buffer);
    const put = (id: number, text: string, ...values: number[]) =>
      write((tx) =>
        tx.documents.putVectors({
          model,
          dimension: 2,
          vectors: [{ chunkId: id, hash: `h${text}`, vector: vector(...values) }],
        }),
      );
    const state = async () => (await read((tx) => tx.documents.getVectorState())) as number;
    const before = await state();
    expect(await put(two, 'second text', 0, 1)).toBe(1);
    expect(await put(one, 'first text', 1, 0)).toBe(1);
    expect(await put(one, 'another text', 1, 1)).toBe(0);
    expect(await put(999_999_999, 'second text', 1, 1)).toBe(0);
    expect(await state()).toBe(before + 4);

    const list = (after: number) => read((tx) => tx.documents.listVectors({ model, after, limit: 9 }));
    expect((await list(0)).map(({ chunkId }) => chunkId)).toEqual([two, one]);
    expect((await list(before + 1)).map(({ chunkId }) => chunkId)).toEqual([one]);
    await put(two, 'second text', 0.6, 0.8);
    expect((await list(before + 2)).map((row) => [row.chunkId, row.vector])).toEqual([[two, vector(0.6, 0.8)]]);
    expect(
      (await read((tx) => tx.documents.getVectors({ ids: [one, 999_999_999], model }))).map((row) => row.vector),
    ).toEqual([vector(1, 0)]);
    expect(await read((tx) => tx.documents.getVectors({ ids: [one], model: other }))).toEqual([]);
    expect(await read((tx) => tx.documents.getVectors({ ids: [], model }))).toEqual([]);
    expect(await read((tx) => tx.documents.listVectorModels())).toContainEqual({ model, dimension: 2, vectors: 2 });
  });

  test('a chunk is listed as unembedded until it has a vector of the model', async () => {
    const [model, other] = [newWord(), newWord()];
    const [key] = (await add(['to embed'])) as [number];
    const lacks = async (of: string) =>
      (await read((tx) => tx.documents.listUnembedded({ model: of, after: key - 1, limit: 1 }))).map(({ id }) => id);
    expect(await read((tx) => tx.documents.listUnembedded({ model, after: key - 1, limit: 1 }))).toEqual([
      { id: key, hash: 'hto embed', place: {}, text: 'to embed', title: 'A title' },
    ]);
    const vectors = [{ chunkId: key, hash: 'hto embed', vector: Buffer.alloc(4) }];
    await write((tx) => tx.documents.putVectors({ model, dimension: 1, vectors }));
    expect(await lacks(model)).toEqual([]);
    expect(await lacks(other)).toEqual([key]);
    const before = await read((tx) => tx.documents.getVectorState());
    expect(await write((tx) => tx.documents.deleteVectors())).toBeGreaterThan(0);
    expect(await lacks(model)).toEqual([key]);
    expect(await read((tx) => tx.documents.getVectorState())).toBe(before);
  });
}
