import type { Document, Source } from '../core/document.ts';
import { SubstratError } from '../core/errors.ts';
import type { Knowledge, KnowledgeDocument, KnowledgeSource } from '../core/knowledge.ts';
import { isIdEnding, onlyIdEnding } from '../core/short-id.ts';
import { shorten } from '../core/text.ts';
import type { Store } from '../store/store.ts';
import type { Embedder } from './embedding.ts';
import type { Reranker } from './reranker.ts';
import { type RetrievalSettings, search } from './search.ts';
import type { Tx } from './tx.ts';
import { chunkVectors, createVectorCache } from './vector-cache.ts';
import { createVocabulary } from './vocabulary.ts';

interface KnowledgeOptions {
  readonly store: Store;
  /** The sources of the configuration, `type:name`. */
  readonly configured: readonly string[];
  readonly retrieval: RetrievalSettings;
  /** Null where embeddings are disabled. */
  readonly embedder: Embedder | null;
  /** Null where reranking is off. */
  readonly reranker?: Reranker | null;
  /** How long a search waits for near words while they are loaded. */
  readonly patienceMs?: number;
}

const PATIENCE_MS = 10;

/** The contents of the store through the interface that the other rooms use. */
export function createKnowledge({
  store,
  configured,
  retrieval,
  embedder,
  reranker = null,
  patienceMs = PATIENCE_MS,
}: KnowledgeOptions): Knowledge {
  const vocabulary = createVocabulary(store, patienceMs);
  const meaning = embedder && { embedder, cache: createVectorCache(store, chunkVectors(embedder.model)) };
  return {
    search: (request) =>
      search({ store, settings: retrieval, meaning, reranker, vocabulary, hasSources: configured.length > 0 }, request),

    async get(id) {
      const document = await store.read(async (tx) => {
        const row = await findDocument(tx, id);
        return row && asDocument(row, await tx.documents.listChunks({ documentId: row.id }));
      });
      if (document) return document;
      throw new SubstratError(
        'not_found',
        `There is no document ${shorten(id)}. Search results show the ids and paths of documents.`,
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

/** By its id, by the last 6 or more characters of it, or by its path in a source. */
export async function findDocument(tx: Tx, given: string): Promise<Document | null> {
  const exact = await tx.documents.getDocument({ id: given });
  if (exact) return exact;
  const ids = isIdEnding(given) ? await tx.ids.listIdsEnding({ kind: 'documents', ending: given }) : [];
  const id = onlyIdEnding('document', given, ids);
  if (id !== null) return tx.documents.getDocument({ id });
  const sourceId = given.replace(/^\.\//, '');
  const found: Document[] = [];
  for (const { name: source } of await tx.documents.listSources()) {
    const row = await tx.documents.getDocumentOf({ source, sourceId });
    if (row) found.push(row);
  }
  if (found.length < 2) return found[0] ?? null;
  const candidates = found.map((one) => `${one.id} (${one.source})`).join(', ');
  throw new SubstratError('conflict', `More than one source has ${shorten(given)}: ${candidates}. Give the id.`);
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
