import type { PassageMeaning } from '../core/memory.ts';
import { closeness } from '../search/search.ts';
import type { Store } from '../store/store.ts';
import type { Embedder } from './embedding.ts';
import { toBytes } from './vector.ts';
import { createVectorCache, type VectorCache, type VectorSource } from './vector-cache.ts';

/** The vectors of this many agents stay in memory. */
const MOST_AGENTS = 50;
/** A model that is being loaded, or a slow service, must not delay a search: words alone answer it. */
const PATIENCE_MS = 3000;
/** The beginning of a query carries its meaning; models read only some hundred words. */
const LONGEST_EMBEDDED = 8_000;

interface Options {
  readonly store: Store;
  readonly embedder: Embedder;
  readonly onProblem: (error: Error) => void;
  readonly patienceMs?: number;
}

/** Finds passages by their vectors. A problem of the model is reported, and nothing is found by meaning. */
export function createPassageMeaning({
  store,
  embedder,
  onProblem,
  patienceMs = PATIENCE_MS,
}: Options): PassageMeaning {
  const caches = new Map<string, VectorCache>();
  const cacheOf = (agentId: string): VectorCache => {
    const cache = caches.get(agentId) ?? createVectorCache(store, passageVectors(agentId, embedder.model));
    // The last one used is last.
    caches.delete(agentId);
    caches.set(agentId, cache);
    const [oldest] = caches.keys();
    if (caches.size > MOST_AGENTS && oldest !== undefined) caches.delete(oldest);
    return cache;
  };
  return {
    nearest: async ({ agentId, query, limit }) => {
      try {
        const cache = cacheOf(agentId);
        if ((await cache.size()) === 0) return [];
        const [vector] = await within(patienceMs, embedder.embed([query.slice(0, LONGEST_EMBEDDED)], 'query'));
        if (!vector) return [];
        const near = await cache.nearest(vector, limit);
        const unrelated = await cache.unrelated();
        return near.map(({ key, score }) => ({ seq: key, score: closeness(score, unrelated) }));
      } catch (error) {
        onProblem(error as Error);
        return [];
      }
    },
  };
}

/** Embeds the passages of a node's agents that have no vector of this model. Each batch is stored when it is done. */
export async function embedPassages({
  store,
  embedder,
  nodeId,
  batch,
  signal,
}: {
  readonly store: Store;
  readonly embedder: Embedder;
  readonly nodeId: string;
  readonly batch: number;
  readonly signal: AbortSignal;
}): Promise<number> {
  const { model } = embedder;
  let done = 0;
  while (!signal.aborted) {
    const rows = await store.read((tx) => tx.memory.listUnembeddedPassages({ nodeId, limit: batch }));
    if (rows.length === 0) break;
    const made = await embedder.embed(
      rows.map(({ content, tags }) => [content, ...tags].join('\n')),
      'passage',
    );
    const vectors = rows.map(({ agentId, seq }, i) => ({ agentId, seq, vector: toBytes(made[i] as Float32Array) }));
    const dimension = made[0]?.length ?? 0;
    done += await store.write((tx) => tx.memory.putPassageVectors({ model, dimension, vectors }));
  }
  return done;
}

function passageVectors(agentId: string, model: string): VectorSource {
  return {
    page: async (tx, p) =>
      (await tx.memory.listPassageVectors({ agentId, model, ...p })).map(({ seq, number, vector }) => ({
        key: seq,
        number,
        vector,
      })),
    of: async (tx, seqs) =>
      (await tx.memory.getPassageVectors({ agentId, model, seqs })).map(({ seq, vector }) => ({ key: seq, vector })),
    count: (tx) => tx.memory.countPassageVectors({ agentId, model }),
  };
}

async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`The embedding model did not answer within ${ms} ms.`)), ms);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}
