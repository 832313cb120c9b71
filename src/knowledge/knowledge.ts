import type { Document, Source } from '../core/document.ts';
import { SubstratError } from '../core/errors.ts';
import type { Knowledge, KnowledgeDocument, KnowledgeSource } from '../core/knowledge.ts';
import { shorten } from '../core/text.ts';
import type { Store } from '../store/store.ts';
import type { Embedder } from './embedding.ts';
import { type RetrievalSettings, search } from './search.ts';
import { createVectorCache } from './vector-cache.ts';

interface KnowledgeOptions {
  readonly store: Store;
  /** The sources of the configuration, `type:name`. */
  readonly configured: readonly string[];
  readonly retrieval: RetrievalSettings;
  /** Null where embeddings are disabled. */
  readonly embedder: Embedder | null;
}

/** The contents of the store through the interface that the other rooms use. */
export function createKnowledge({ store, configured, retrieval, embedder }: KnowledgeOptions): Knowledge {
  const meaning = embedder && { embedder, cache: createVectorCache(store, embedder.model) };
  return {
    search: async (request) => ({ results: await search({ store, settings: retrieval, meaning }, request) }),

    async get(id) {
      const document = await store.read(async (tx) => {
        const row = await tx.documents.getDocument({ id });
        return row && asDocument(row, await tx.documents.listChunks({ documentId: id }));
      });
      if (document) return document;
      throw new SubstratError(
        'not_found',
        `There is no document ${shorten(id)}. Search results contain the ids of documents.`,
      );
    },

    async sources() {
      const rows = await store.read((tx) => tx.documents.listSources());
      const byName = new Map(rows.map((row) => [row.name, row]));
      const names = [...new Set([...configured, ...byName.keys()])].sort();
      return { sources: names.map((name) => asSource(name, configured.includes(name), byName.get(name) ?? null)) };
    },
  };
}

export function asDocument(row: Document, chunks: readonly { idx: number; text: string }[]): KnowledgeDocument {
  return {
    id: row.id,
    source: row.source,
    source_id: row.sourceId,
    source_url: row.url,
    title: row.title,
    author: row.author,
    created_at: isoTime(row.createdAt),
    updated_at: isoTime(row.updatedAt),
    content_type: row.contentType,
    body: row.body,
    metadata: row.metadata,
    chunks: chunks.map(({ idx, text }) => ({ index: idx, text })),
  };
}

function asSource(name: string, configured: boolean, row: Source | null): KnowledgeSource {
  const notes =
    row === null ? 'never synced' : (row.notes ?? (row.state === 'syncing' ? 'a sync is in progress' : null));
  return { name, configured, healthy: configured && row?.state !== 'failed', notes };
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
