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

export function createVectorCache(store: Store, model: string): VectorCache {
  let index: VectorIndex | null = null;
  let seen = 0;
  let reading: Promise<void> | null = null;

  const readPage = (tx: Tx) => tx.documents.listVectors({ model, after: seen, limit: PAGE });
  const refresh = async (): Promise<void> => {
    const newest = await store.read((tx) => tx.documents.getVectorState());
    if (newest <= seen) return;
    for (;;) {
      // One page at a time, so that other work gets its turn.
      const rows = await store.read(readPage);
      for (const { chunkId, vector } of rows) {
        const numbers = fromBytes(vector);
        index ??= new VectorIndex(numbers.length);
        index.set(chunkId, numbers);
      }
      seen = rows.at(-1)?.seq ?? Math.max(seen, newest);
      if (rows.length < PAGE) break;
    }
    seen = Math.max(seen, newest);
    const models = await store.read((tx) => tx.documents.listVectorModels());
    const living = models.find((one) => one.model === model)?.vectors ?? 0;
    if (!index || index.size <= MOST_DEAD * living + SOME) return;
    index = null;
    seen = 0;
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
    const rows = await store.read((tx) => tx.documents.getVectors({ ids: keys, model }));
    return new Map(rows.map(({ chunkId, vector }) => [chunkId, fromBytes(vector)]));
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
  };
}
