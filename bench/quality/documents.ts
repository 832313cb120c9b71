import { hash } from 'node:crypto';
import type { SEARCH_MODES, SearchMode } from '../../src/core/knowledge.ts';
import { embedPending } from '../../src/knowledge/embed-pending.ts';
import type { Embedder } from '../../src/knowledge/embedding.ts';
import { createKnowledge } from '../../src/knowledge/knowledge.ts';
import type { RetrievalSettings } from '../../src/knowledge/search.ts';
import { chunkWords } from '../../src/search/search.ts';
import type { Store } from '../../src/store/store.ts';
import type { Collection } from './collection.ts';
import type { Ranker } from './rankings.ts';

const REST = {
  contentType: 'text/plain',
  createdAt: 0,
  updatedAt: 0,
  indexedAt: 0,
  author: null,
  url: null,
  tags: [],
  metadata: {},
};
/** Long enough that the words near to a query's are there from the first one on. */
const PATIENCE_MS = 60_000;

export type Rankers = Readonly<Record<(typeof SEARCH_MODES)[number], Ranker>>;

/** The search of documents with a collection in the store, by each mode. */
export async function documentRankers(
  store: Store,
  collection: Collection,
  { embedder, retrieval }: { readonly embedder: Embedder; readonly retrieval: RetrievalSettings },
): Promise<Rankers> {
  await fill(store, collection);
  await embedPending({ store, embedder, batch: 32 });
  const knowledge = createKnowledge({ store, configured: [], retrieval, embedder, patienceMs: PATIENCE_MS });
  const ranker =
    (mode: SearchMode): Ranker =>
    async (query, limit) =>
      (await knowledge.search({ query, mode, limit })).results.map(({ source_id }) => source_id);
  return { keyword: ranker('keyword'), semantic: ranker('semantic'), hybrid: ranker('hybrid') };
}

async function fill(store: Store, { name, documents, named }: Collection): Promise<void> {
  await store.write(async (tx) => {
    for (const { id, title, body } of documents) {
      const text = body || title;
      const row = { id: `${name}-${id}`, source: 'bench:quality', sourceId: id, version: '1', hash: '1', title, body };
      const words = chunkWords({ title, headings: [], text, path: named ? id : null });
      const chunk = { hash: hash('sha256', text), place: {}, text, words };
      await tx.documents.replaceDocuments([{ document: { ...row, ...REST }, chunks: [chunk] }]);
    }
  });
}
