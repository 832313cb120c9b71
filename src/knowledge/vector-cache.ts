import type { Store } from '../store/store.ts';
import type { Tx } from './tx.ts';
import { dot, fromBytes } from './vector.ts';
import { type Near, VectorIndex } from './vector-index.ts';

/** The vectors of one model in memory, kept in step with the store, whichever process writes to it. */
export interface VectorCache {
  /** The nearest chunks by exact cosine, best first. Some may have been deleted: `forget` those. */
  nearest(vector: Float32Array, limit: number, allowed?: ReadonlySet<number> | null): Promise<Near[]>;
  vectorsOf(keys: readonly number[]): Promise<ReadonlyMap<number, Float32Array>>;
  forget(keys: Iterable<number, unknown>): void;
  size(): Promise<number>;
  /** The mean cosine of two of its texts: of what has nothing to do with each other. */
  unrelated(): Promise<number>;
}

const PAGE = 1000;
/** Score this many times more candidates exactly, because 8-bit vectors confuse near neighbours. */
const SPARE = 3;
const LEAST_WEIGHED = 50;
/**
 * Deletions are not announced; deleted chunks are dropped when they are found. Beyond this ratio to the live ones,
 * everything is reloaded.
 */
const MOST_DEAD = 1.5;
const SOME = 1000;
/** Fewer texts say nothing about what is usual. */
const FEW = 20;
const USUALLY_UNRELATED = 0.2;
/** Of a collection in which all texts are nearly the same. */
const MOST_UNRELATED = 0.9;

/** The vectors of one kind and model in the store. */
export interface VectorSource {
  /** In the order in which they were stored. */
  page(tx: Tx, p: { after: number; limit: number }): Promise<readonly (Keyed & { readonly number: number })[]>;
  of(tx: Tx, keys: readonly number[]): Promise<readonly Keyed[]>;
  count(tx: Tx): Promise<number>;
}

interface Keyed {
  readonly key: number;
  readonly vector: Buffer;
}

export function chunkVectors(model: string): VectorSource {
  return {
    page: async (tx, p) =>
      (await tx.documents.listVectors({ model, ...p })).map(({ chunkId, seq, vector }) => ({
        key: chunkId,
        number: seq,
        vector,
      })),
    of: async (tx, ids) =>
      (await tx.documents.getVectors({ ids, model })).map(({ chunkId, vector }) => ({ key: chunkId, vector })),
    count: async (tx) => (await tx.documents.listVectorModels()).find((one) => one.model === model)?.vectors ?? 0,
  };
}

export function createVectorCache(store: Store, source: VectorSource): VectorCache {
  let index: VectorIndex | null = null;
  let seen = 0;
  let reading: Promise<void> | null = null;
  let sum = new Float64Array();
  let summed = 0;

  const readPage = (tx: Tx) => source.page(tx, { after: seen, limit: PAGE });
  const refresh = async (): Promise<void> => {
    const newest = await store.read((tx) => tx.documents.getVectorState());
    if (newest <= seen) return;
    for (;;) {
      // One page at a time, so that other work gets its turn.
      const rows = await store.read(readPage);
      for (const { key, vector } of rows) {
        const numbers = fromBytes(vector);
        index ??= new VectorIndex(numbers.length);
        index.set(key, numbers);
        if (sum.length !== numbers.length) sum = new Float64Array(numbers.length);
        for (const [i, value] of numbers.entries()) sum[i] = (sum[i] as number) + value;
        summed += 1;
      }
      seen = rows.at(-1)?.number ?? Math.max(seen, newest);
      if (rows.length < PAGE) break;
    }
    seen = Math.max(seen, newest);
    const living = await store.read((tx) => source.count(tx));
    if (!index || index.size <= MOST_DEAD * living + SOME) return;
    index = null;
    seen = 0;
    sum = new Float64Array();
    summed = 0;
    await refresh();
  };
  /** Concurrent callers share one load. */
  const current = async (): Promise<VectorIndex | null> => {
    reading ??= refresh().finally(() => {
      reading = null;
    });
    await reading;
    return index;
  };
  const vectorsOf = async (keys: readonly number[]) => {
    const rows = await store.read((tx) => source.of(tx, keys));
    return new Map(rows.map(({ key, vector }) => [key, fromBytes(vector)]));
  };

  return {
    nearest: async (vector, limit, allowed = null) => {
      const near = (await current())?.nearest(vector, Math.max(SPARE * limit, LEAST_WEIGHED), allowed) ?? [];
      const exact = await vectorsOf(near.map(({ key }) => key));
      return near
        .map(({ key, score }) => ({ key, score: exact.has(key) ? dot(vector, exact.get(key) as Float32Array) : score }))
        .sort((a, b) => b.score - a.score || a.key - b.key)
        .slice(0, limit);
    },
    vectorsOf,
    forget: (keys) => {
      for (const key of keys) index?.delete(key);
    },
    size: async () => (await current())?.size ?? 0,
    unrelated: async () => {
      await current();
      if (summed < FEW) return USUALLY_UNRELATED;
      // The square of the sum of all vectors is the sum of all their products, of each with itself too.
      const products = sum.reduce((total, value) => total + value * value, 0);
      return Math.min(MOST_UNRELATED, Math.max(0, (products - summed) / (summed * (summed - 1))));
    },
  };
}
