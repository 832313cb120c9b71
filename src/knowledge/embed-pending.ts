import type { Store, UnembeddedChunk } from '../store/store.ts';
import type { Embedder } from './embedding.ts';
import { toBytes } from './vector.ts';

export interface EmbedOptions {
  readonly store: Store;
  readonly embedder: Embedder;
  /** Number of chunks embedded between two writes. */
  readonly batch: number;
  /** The most chunks to embed; null for all. */
  readonly limit?: number | null;
  readonly onProgress?: (done: number) => void;
  readonly signal?: AbortSignal;
}

/**
 * Embeds every chunk that has no vector of this model, or a stale one. Each batch is stored when it is done, so an
 * interrupted run resumes where it stopped.
 */
export async function embedPending(options: EmbedOptions): Promise<number> {
  const { store, embedder, batch, limit = null, onProgress, signal } = options;
  const { model } = embedder;
  let after = 0;
  let done = 0;
  let left = limit ?? Number.POSITIVE_INFINITY;
  while (!signal?.aborted && left > 0) {
    const most = Math.min(batch, left);
    const chunks = await store.read((tx) => tx.documents.listUnembedded({ model, after, limit: most }));
    if (chunks.length === 0) break;
    const made = await embedder.embed(chunks.map(embeddedText), 'passage');
    const vectors = chunks.map(({ id, hash }, i) => ({
      chunkId: id,
      hash,
      vector: toBytes(made[i] as Float32Array),
    }));
    const dimension = made[0]?.length ?? 0;
    done += await store.write((tx) => tx.documents.putVectors({ model, dimension, vectors }));
    after = chunks.at(-1)?.id ?? after;
    left -= chunks.length;
    onProgress?.(done);
  }
  return done;
}

/** The text to embed: the chunk's text, preceded by its headings unless it starts with them. */
function embeddedText({ title, place, text }: Pick<UnembeddedChunk, 'title' | 'place' | 'text'>): string {
  const { headings = [] } = place;
  const beginning = text.slice(0, 500).toLowerCase();
  const above = [title ?? '', ...headings].map((one) => one.trim()).filter((one) => one !== '');
  return [...new Set(above.filter((one) => !beginning.includes(one.toLowerCase()))), text].join('\n');
}
