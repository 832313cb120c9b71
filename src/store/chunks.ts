import { sql } from 'kysely';
import { indexedColumns } from './fulltext.ts';
import type { Queries } from './query.ts';
import type { ChunkRow, DocumentRow } from './schema.ts';

/** A chunk that is about to be stored, with the words by which it is found (src/search). */
export interface NewChunk {
  readonly hash: string;
  readonly place: string;
  readonly text: string;
  readonly words: { readonly title: readonly string[]; readonly words: readonly string[] };
}

/**
 * A document and its chunks are written together, in the caller's transaction. A chunk that is still the same keeps its key
 * and its vector, wherever in the document it is now.
 */
export function chunkQueries({ engine, db, all, one, run }: Queries) {
  const earlier = sql.raw(engine === 'sqlite' ? 'min' : 'least');
  const getId = one((p: { source: string; sourceId: string }) =>
    db.selectFrom('documents').select('id').where('source', '=', p.source).where('source_id', '=', p.sourceId),
  );
  const insertDocument = run((p: DocumentRow) =>
    db.insertInto('documents').values({
      id: p.id,
      source: p.source,
      source_id: p.source_id,
      version: p.version,
      hash: p.hash,
      content_type: p.content_type,
      created_at: p.created_at,
      updated_at: p.updated_at,
      indexed_at: p.indexed_at,
      title: p.title,
      author: p.author,
      url: p.url,
      tags: p.tags,
      metadata: p.metadata,
      body: p.body,
    }),
  );
  const updateDocument = run((p: DocumentRow) =>
    db
      .updateTable('documents')
      .set({
        version: p.version,
        hash: p.hash,
        content_type: p.content_type,
        // It does not become younger: a source may know only its last changes.
        created_at: sql<number>`${earlier}(created_at, ${p.created_at})`,
        updated_at: p.updated_at,
        indexed_at: p.indexed_at,
        title: p.title,
        author: p.author,
        url: p.url,
        tags: p.tags,
        metadata: p.metadata,
        body: p.body,
      })
      .where('id', '=', p.id),
  );
  const removeDocument = run((p: { id: string }) => db.deleteFrom('documents').where('id', '=', p.id));
  const listChunks = all((p: { documentId: string }) =>
    db.selectFrom('chunks').selectAll().where('document_id', '=', p.documentId).orderBy('idx'),
  );
  const listKeys = all((p: { documentId: string }) =>
    db.selectFrom('chunks').select(['id', 'hash']).where('document_id', '=', p.documentId).orderBy('idx'),
  );
  const insertChunk = one((p: Omit<ChunkRow, 'id'>) =>
    db
      .insertInto('chunks')
      .values({ document_id: p.document_id, idx: p.idx, hash: p.hash, place: p.place, text: p.text })
      .returning('id'),
  );
  const moveChunk = run((p: { id: number; idx: number; place: string }) =>
    db.updateTable('chunks').set({ idx: p.idx, place: p.place }).where('id', '=', p.id),
  );
  const removeChunk = run((p: { id: number }) => db.deleteFrom('chunks').where('id', '=', p.id));
  const removeVector = run((p: { id: number }) => db.deleteFrom('chunk_vectors').where('chunk_id', '=', p.id));
  const removeWords = run((p: { id: number }) => db.deleteFrom('chunk_words').where('rowid', '=', p.id));
  const insertWords =
    engine === 'sqlite'
      ? run((p: { rowid: number; title: string; words: string }) =>
          db.insertInto('chunk_words').values({ rowid: p.rowid, title: p.title, words: p.words }),
        )
      : run((p: { rowid: number; title: string; words: string }) =>
          // PostgreSQL's table has no column for titles.
          db.insertInto('chunk_words').values({ rowid: p.rowid, words: p.words } as never),
        );

  const deleteChunk = async (id: number): Promise<void> => {
    await removeWords({ id });
    await removeVector({ id });
    await removeChunk({ id });
  };
  const addChunk = async (documentId: string, idx: number, chunk: NewChunk): Promise<void> => {
    const { hash, place, text } = chunk;
    const { id } = (await insertChunk({ document_id: documentId, idx, hash, place, text })) as { id: number };
    await insertWords({ rowid: id, ...indexedColumns(engine, chunk.words) });
  };

  return {
    /** Writes a document with all its chunks in the place of the one that its source calls the same, whose id it keeps. */
    replaceDocument: async (row: DocumentRow, chunks: readonly NewChunk[]): Promise<string> => {
      const before = await getId({ source: row.source, sourceId: row.source_id });
      const id = before?.id ?? row.id;
      if (before) await updateDocument({ ...row, id });
      else await insertDocument(row);
      const old = before ? await listKeys({ documentId: id }) : [];
      const same = Map.groupBy(old, ({ hash }) => hash);
      for (const [idx, chunk] of chunks.entries()) {
        const kept = same.get(chunk.hash)?.shift();
        if (kept) await moveChunk({ id: kept.id, idx, place: chunk.place });
        else await addChunk(id, idx, chunk);
      }
      for (const gone of [...same.values()].flat()) await deleteChunk(gone.id);
      return id;
    },
    /** Answers how many there were: one or none. */
    deleteDocument: async (p: { source: string; sourceId: string }): Promise<number> => {
      const row = await getId(p);
      if (!row) return 0;
      for (const { id } of await listKeys({ documentId: row.id })) await deleteChunk(id);
      return removeDocument({ id: row.id });
    },
    /** In the order of the document. */
    listChunks,
    countChunks: one((_: object) => db.selectFrom('chunks').select(db.fn.countAll<number>().as('chunks'))),
  };
}
