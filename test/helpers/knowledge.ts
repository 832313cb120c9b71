import { SubstratError } from '../../src/core/errors.ts';
import type { Knowledge, KnowledgeDocument } from '../../src/core/knowledge.ts';

/** A small knowledge base in memory: a search finds the documents with any of its words, in the given order. */
export function documentsInMemory(
  documents: Readonly<Record<string, string>>,
  source = 'filesystem:runbooks',
): Knowledge {
  const all = Object.entries(documents).map(
    ([title, body]): KnowledgeDocument => ({
      id: title.toLowerCase().replaceAll(' ', '-'),
      source,
      source_id: title,
      source_url: null,
      title,
      author: null,
      created_at: '2026-01-01T00:00:00.000Z',
      updated_at: '2026-01-01T00:00:00.000Z',
      content_type: 'text/markdown',
      body,
      metadata: {},
      chunks: [{ index: 0, text: body }],
    }),
  );
  return {
    async search({ query, limit = 12, filters }) {
      const words = query.toLowerCase().split(/\W+/);
      const found = all
        .filter(
          (one) =>
            filters?.source === undefined || one.source === filters.source || one.source.endsWith(`:${filters.source}`),
        )
        .filter(({ title, body }) => words.some((word) => `${title} ${body}`.toLowerCase().includes(word)));
      return {
        results: found.slice(0, limit).map(({ id, title, source: from, source_id, updated_at, body, source_url }) => ({
          id,
          score: 1,
          title,
          source: from,
          source_id,
          updated_at,
          snippet: body,
          source_url,
        })),
      };
    },
    async get(id) {
      const found = all.find((one) => one.id === id);
      if (found === undefined) throw new SubstratError('not_found', `There is no document ${id}.`);
      return found;
    },
    sources: async () => ({ sources: [{ name: source, configured: true, healthy: true, notes: null }] }),
  };
}
