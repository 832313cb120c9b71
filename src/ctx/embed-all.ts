import { embedPending } from '../knowledge/embed-pending.ts';
import type { Embedder } from '../knowledge/embedding.ts';
import type { OpenedStore } from './context.ts';
import { showProgress } from './progress.ts';

/** Embeds every pending chunk and shows the progress. Returns the number of vectors computed. */
export async function embedAll(
  { config, store }: OpenedStore,
  embedder: Embedder,
  signal: AbortSignal,
): Promise<{ embedded: number; chunks: number }> {
  const { chunks, before } = await store.read(async (tx) => ({
    chunks: await tx.documents.countChunks(),
    before: (await tx.documents.listVectorModels()).find(({ model }) => model === embedder.model)?.vectors ?? 0,
  }));
  const progress = showProgress('embed');
  const { batch } = config.embedding;
  const onProgress = (done: number) => progress.draw({ seen: chunks, done: before + done, total: chunks });
  const embedded = await embedPending({ store, embedder, batch, onProgress, signal }).finally(progress.end);
  return { embedded, chunks };
}
