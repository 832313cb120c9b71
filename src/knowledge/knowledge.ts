import { SubstratError } from '../core/errors.ts';
import type { Knowledge, KnowledgeDocument, KnowledgeSource, SearchRequest } from '../core/knowledge.ts';
import { queryWords } from '../search/search.ts';
import type { DocumentRow, SourceRow, Store } from '../store/store.ts';

interface KnowledgeOptions {
  readonly store: Store;
  /** The sources of the configuration, `type:name`. */
  readonly configured: readonly string[];
  readonly finalLimit: number;
}

const SNIPPET = 300;

/** What is in the store, as everybody else sees it. */
export function createKnowledge({ store, configured, finalLimit }: KnowledgeOptions): Knowledge {
  return {
    async search({ query, limit = finalLimit }: SearchRequest) {
      const words = queryWords(query);
      if (words.length === 0) return { results: [] };
      return store.read(async (tx) => {
        const found = await tx.findChunks({ words, limit: limit * 5 });
        const best = found[0]?.score ?? 1;
        const results = [];
        for (const [id, [chunk]] of Map.groupBy(found, (one) => one.document_id)) {
          const row = await tx.getDocument({ id });
          if (!row || !chunk) continue;
          const text = (await tx.listChunks({ documentId: id })).find((one) => one.id === chunk.chunk_id)?.text ?? '';
          results.push({
            id,
            score: best === 0 ? 1 : chunk.score / best,
            title: row.title,
            source: row.source,
            source_id: row.source_id,
            updated_at: isoTime(row.updated_at),
            snippet: text.slice(0, SNIPPET),
            source_url: row.url,
          });
        }
        return { results: results.slice(0, limit) };
      });
    },

    async get(id) {
      const document = await store.read(async (tx) => {
        const row = await tx.getDocument({ id });
        return row && asDocument(row, await tx.listChunks({ documentId: id }));
      });
      if (document) return document;
      throw new SubstratError('not_found', `There is no document ${id}. Its id is in the results of a search.`);
    },

    async sources() {
      const rows = await store.read((tx) => tx.listSources({}));
      const byName = new Map(rows.map((row) => [row.name, row]));
      const names = [...new Set([...configured, ...byName.keys()])].sort();
      return { sources: names.map((name) => asSource(name, configured.includes(name), byName.get(name) ?? null)) };
    },
  };
}

export function asDocument(row: DocumentRow, chunks: readonly { idx: number; text: string }[]): KnowledgeDocument {
  return {
    id: row.id,
    source: row.source,
    source_id: row.source_id,
    source_url: row.url,
    title: row.title,
    author: row.author,
    created_at: isoTime(row.created_at),
    updated_at: isoTime(row.updated_at),
    content_type: row.content_type,
    body: row.body,
    metadata: JSON.parse(row.metadata),
    chunks: chunks.map(({ idx, text }) => ({ index: idx, text })),
  };
}

function asSource(name: string, configured: boolean, row: SourceRow | null): KnowledgeSource {
  const notes = row === null ? 'never synced' : (row.notes ?? (row.state === 'syncing' ? 'a sync is under way' : null));
  return { name, configured, healthy: configured && row?.state !== 'failed', notes };
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
