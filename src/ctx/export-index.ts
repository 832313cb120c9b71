import { asDocument } from '../knowledge/knowledge.ts';
import type { Store } from '../store/store.ts';

const PAGE = 50;

/** Every document with its chunks, as one JSON value a line. */
export async function* documentLines(store: Store, source: string): AsyncIterable<string> {
  for await (const { row, chunks } of documents(store, source)) {
    yield `${JSON.stringify({ ...asDocument(row, chunks), tags: row.tags })}\n`;
  }
}

/**
 * Documents and chunks as one JSON value, in the form that Context Harness exports and its search for web pages reads.
 * Read in two passes: a store may be larger than memory.
 */
export async function* indexJson(store: Store, source: string): AsyncIterable<string> {
  yield '{\n"documents": [';
  let mark = '\n';
  for await (const { row } of documents(store, source)) {
    const { id, source_id, source_url, title, body } = asDocument(row, []);
    const updated_at = Math.floor(row.updatedAt / 1_000);
    yield `${mark}${JSON.stringify({ id, source: row.source, source_id, source_url, title, updated_at, body })}`;
    mark = ',\n';
  }
  yield '\n],\n"chunks": [';
  mark = '\n';
  for await (const { row, chunks } of documents(store, source)) {
    for (const { index, text } of asDocument(row, chunks).chunks) {
      const chunk = { id: `${row.id}:${index}`, document_id: row.id, chunk_index: index, text };
      yield `${mark}${JSON.stringify(chunk)}`;
      mark = ',\n';
    }
  }
  yield '\n]\n}\n';
}

async function* documents(store: Store, source: string) {
  let after = { afterSource: '', afterId: '' };
  for (;;) {
    const rows = await store.read((tx) => tx.documents.listDocuments({ source, ...after, limit: PAGE }));
    for (const row of rows) {
      const chunks = await store.read((tx) => tx.documents.listChunks({ documentId: row.id }));
      yield { row, chunks };
    }
    const last = rows.at(-1);
    if (!last) return;
    after = { afterSource: last.source, afterId: last.sourceId };
  }
}
