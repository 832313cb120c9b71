import { embedPending } from '../knowledge/embed-pending.ts';
import type { Embedder } from '../knowledge/embedding.ts';
import type { OpenedStore } from './context.ts';
import { showProgress } from './progress.ts';

export interface EmbedChoice {
  /** The most chunks to embed; null for all. */
  readonly limit: number | null;
  /** Null: as configured. */
  readonly batch: number | null;
}

/** Embeds pending chunks and shows the progress. Returns the number of vectors computed. */
export async function embedAll(
  { config, store }: OpenedStore,
  embedder: Embedder,
  signal: AbortSignal,
  choice: EmbedChoice = { limit: null, batch: null },
): Promise<{ embedded: number; chunks: number }> {
  const { chunks, before } = await store.read(async (tx) => ({
    chunks: await tx.documents.countChunks(),
    before: (await tx.documents.listVectorModels()).find(({ model }) => model === embedder.model)?.vectors ?? 0,
  }));
  const progress = showProgress('embed');
  const batch = choice.batch ?? config.embedding.batch;
  const onProgress = (done: number) => progress.draw({ seen: chunks, done: before + done, total: chunks });
  const embedded = await embedPending({ store, embedder, batch, limit: choice.limit, onProgress, signal }).finally(
    progress.end,
  );
  return { embedded, chunks };
}
