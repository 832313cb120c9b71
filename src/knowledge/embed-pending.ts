import type { Store, UnembeddedChunk } from '../store/store.ts';
import type { Embedder } from './embedding.ts';
import { toBytes } from './vector.ts';

export interface EmbedOptions {
  readonly store: Store;
  readonly embedder: Embedder;
  /** How many chunks are embedded between two writes. */
  readonly batch: number;
  readonly onProgress?: (done: number) => void;
  readonly signal?: AbortSignal;
}

/**
 * Gives a vector to every chunk that has none of this model, or one of what it said before. Each batch is stored as it is
 * done, so whatever ends this, the next one goes on from there.
 */
export async function embedPending({ store, embedder, batch, onProgress, signal }: EmbedOptions): Promise<number> {
  const { model } = embedder;
  let after = 0;
  let done = 0;
  while (!signal?.aborted) {
    const chunks = await store.read((tx) => tx.documents.listUnembedded({ model, after, limit: batch }));
    if (chunks.length === 0) break;
    const made = await embedder.embed(chunks.map(embeddedText));
    const vectors = chunks.map(({ id, hash }, i) => ({
      chunkId: id,
      hash,
      vector: toBytes(made[i] as Float32Array),
    }));
    const dimension = made[0]?.length ?? 0;
    done += await store.write((tx) => tx.documents.putVectors({ model, dimension, vectors }));
    after = chunks.at(-1)?.id ?? after;
    onProgress?.(done);
  }
  return done;
}

/** What the vector is made of: the text, and what stands above it unless it begins with that. */
function embeddedText({ title, place, text }: Pick<UnembeddedChunk, 'title' | 'place' | 'text'>): string {
  const { headings = [] } = place;
  const beginning = text.slice(0, 500).toLowerCase();
  const above = [title ?? '', ...headings].map((one) => one.trim()).filter((one) => one !== '');
  return [...new Set(above.filter((one) => !beginning.includes(one.toLowerCase()))), text].join('\n');
}
