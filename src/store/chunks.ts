import { sql } from 'kysely';
import type { Chunk, ChunkPlace, Document } from '../core/document.ts';
import type { DocumentId } from '../core/ids.ts';
import type { Documents } from './document-tx.ts';
import { indexedColumns } from './fulltext.ts';
import { isOneOf, listOf } from './key-list.ts';
import type { Queries } from './query.ts';
import type { NewChunk, WholeDocument } from './views.ts';

export type ChunkQueries = Pick<Documents, 'replaceDocuments' | 'tryDeleteDocument' | 'listChunks' | 'countChunks'>;

interface LaterWords {
  readonly inserted: { readonly rowid: number; readonly words: NewChunk['words'] }[];
  readonly removed: number[];
}

/**
 * A document and its chunks are written together, in the caller's transaction. An unchanged chunk keeps its key and
 * its vector, wherever it is in the document now.
 */
export function chunkQueries({ engine, db, all, one, count, run, attempt }: Queries): ChunkQueries {
  const earlier = sql.raw(engine === 'sqlite' ? 'min' : 'least');
  const getId = one((p: { source: string; sourceId: string }) =>
    db.selectFrom('documents').select('id').where('source', '=', p.source).where('sourceId', '=', p.sourceId),
  );
  const insertDocument = run((p: Document) =>
    db.insertInto('documents').values({
      id: p.id,
      source: p.source,
      sourceId: p.sourceId,
      version: p.version,
      hash: p.hash,
      contentType: p.contentType,
      createdAt: p.createdAt,
      updatedAt: p.updatedAt,
      indexedAt: p.indexedAt,
      title: p.title,
      author: p.author,
      url: p.url,
      tags: p.tags,
      metadata: p.metadata,
      body: p.body,
    }),
  );
  const updateDocument = run((p: Document) =>
    db
      .updateTable('documents')
      .set({
        version: p.version,
        hash: p.hash,
        contentType: p.contentType,
        // Keeps the earliest time, because a source may only know its last changes.
        createdAt: sql<number>`${earlier}(created_at, ${p.createdAt})`,
        updatedAt: p.updatedAt,
        indexedAt: p.indexedAt,
        title: p.title,
        author: p.author,
        url: p.url,
        tags: p.tags,
        metadata: p.metadata,
        body: p.body,
      })
      .where('id', '=', p.id),
  );
  const removeDocument = attempt((p: { id: string }) => db.deleteFrom('documents').where('id', '=', p.id));
  const listChunks = all((p: { documentId: string }) =>
    db.selectFrom('chunks').selectAll().where('documentId', '=', p.documentId).orderBy('idx'),
  );
  const listKeys = all((p: { documentId: string }) =>
    db.selectFrom('chunks').select(['id', 'hash']).where('documentId', '=', p.documentId).orderBy('idx'),
  );
  const insertChunk = one((p: Omit<Chunk, 'id'>) =>
    db
      .insertInto('chunks')
      .values({ documentId: p.documentId, idx: p.idx, hash: p.hash, place: p.place, text: p.text })
      .returning('id'),
  );
  const moveChunk = run((p: { id: number; idx: number; place: ChunkPlace }) =>
    db.updateTable('chunks').set({ idx: p.idx, place: p.place }).where('id', '=', p.id),
  );
  const removeChunk = run((p: { id: number }) => db.deleteFrom('chunks').where('id', '=', p.id));
  const removeVector = run((p: { id: number }) => db.deleteFrom('chunk_vectors').where('chunkId', '=', p.id));
  const removeWords = run((p: { ids: string }) => db.deleteFrom('chunk_words').where(isOneOf(engine, 'rowid', p.ids)));
  const insertWords = run((p: { rowid: number; title: string; words: string }) =>
    db.insertInto('chunk_words').values({ rowid: p.rowid, title: p.title, words: p.words }),
  );
  /** PostgreSQL counts the chunks of each statement, and its table has no title column. */
  const insertAllWords = run((p: { ids: string; words: string }) => ({
    compile: () =>
      sql`insert into chunk_words (rowid, words)
        select * from unnest(${p.ids}::bigint[], ${p.words}::text[]::tsvector[])`.compile(db),
  }));

  /** Writes everything of a document except words, and adds the work on words to `later`. */
  const putRows = async (row: Document, chunks: readonly NewChunk[], later: LaterWords): Promise<string> => {
    const before = await getId({ source: row.source, sourceId: row.sourceId });
    const documentId = before?.id ?? row.id;
    if (before) await updateDocument({ ...row, id: documentId });
    else await insertDocument(row);
    const same = Map.groupBy(before ? await listKeys({ documentId }) : [], ({ hash }) => hash);
    for (const [idx, { hash, place, text, words }] of chunks.entries()) {
      const kept = same.get(hash)?.shift();
      if (kept) await moveChunk({ id: kept.id, idx, place });
      else {
        const made = await insertChunk({ documentId, idx, hash, place, text });
        later.inserted.push({ rowid: (made as { id: number }).id, words });
      }
    }
    for (const { id } of [...same.values()].flat()) await removeRows(id, later);
    return documentId;
  };
  const removeRows = async (id: number, later: LaterWords): Promise<void> => {
    await removeVector({ id });
    await removeChunk({ id });
    later.removed.push(id);
  };
  const putWords = async ({ inserted, removed }: LaterWords): Promise<void> => {
    if (removed.length > 0) await removeWords({ ids: listOf(engine, removed) });
    const rows = inserted.map(({ rowid, words }) => ({ rowid, ...indexedColumns(engine, words) }));
    if (engine === 'sqlite') for (const row of rows) await insertWords(row);
    else if (rows.length > 0) {
      const ids = rows.map(({ rowid }) => rowid);
      await insertAllWords({
        ids: listOf(engine, ids),
        words: listOf(
          engine,
          rows.map(({ words }) => words),
        ),
      });
    }
  };

  const replaceDocuments = async (documents: readonly WholeDocument[]) => {
    const later: LaterWords = { inserted: [], removed: [] };
    const ids: DocumentId[] = [];
    for (const { document, chunks } of documents) ids.push(await putRows(document, chunks, later));
    await putWords(later);
    return ids;
  };

  return {
    /**
     * Writes documents with all their chunks, each replacing the one with the same name in its source, whose id it
     * keeps. Words are written last, all together: FTS5 writes a segment whenever another table is written between
     * two of them.
     */
    replaceDocuments,
    tryDeleteDocument: async (p: { source: string; sourceId: string }) => {
      const row = await getId(p);
      if (!row) return false;
      const later: LaterWords = { inserted: [], removed: [] };
      for (const { id } of await listKeys({ documentId: row.id })) await removeRows(id, later);
      await putWords(later);
      return removeDocument({ id: row.id });
    },
    /** In document order. */
    listChunks,
    countChunks: count(() => db.selectFrom('chunks').select(db.fn.countAll<number>().as('chunks'))),
  };
}
