import { sql } from 'kysely';
import type { SkippedDocument, Source } from '../core/document.ts';
import type { ChunkSearchQueries } from './chunk-search.ts';
import type { ChunkQueries } from './chunks.ts';
import type { Documents } from './document-tx.ts';
import type { Queries } from './query.ts';
import type { VectorQueries } from './vectors.ts';

/** Sources and metadata of documents. chunks.ts writes documents with their chunks. */
export function documentQueries({
  db,
  all,
  one,
  value,
  put,
  change,
  attempt,
}: Queries): Omit<Documents, keyof ChunkQueries | keyof ChunkSearchQueries | keyof VectorQueries> {
  const putSkipped = put((p: SkippedDocument) =>
    db
      .insertInto('skipped')
      .values({ source: p.source, sourceId: p.sourceId, version: p.version, reason: p.reason, at: p.at })
      .onConflict((conflict) =>
        conflict.columns(['source', 'sourceId']).doUpdateSet((row) => ({
          version: row.ref('excluded.version'),
          reason: row.ref('excluded.reason'),
          at: row.ref('excluded.at'),
        })),
      ),
  );

  return {
    getDocument: one((p: { id: string }) => db.selectFrom('documents').selectAll().where('id', '=', p.id)),
    getDocumentOf: one((p: { source: string; sourceId: string }) =>
      db.selectFrom('documents').selectAll().where('source', '=', p.source).where('sourceId', '=', p.sourceId),
    ),
    getDocumentHash: value((p: { source: string; sourceId: string }) =>
      db.selectFrom('documents').select('hash').where('source', '=', p.source).where('sourceId', '=', p.sourceId),
    ),
    /** What a sync compares with the source, by name. */
    listVersions: all((p: { source: string }) =>
      db.selectFrom('documents').select(['sourceId', 'version']).where('source', '=', p.source).orderBy('sourceId'),
    ),
    /** The content is unchanged, only its version has changed. */
    setDocumentVersion: change('document', (p: { source: string; sourceId: string; version: string }) =>
      db
        .updateTable('documents')
        .set({ version: p.version })
        .where('source', '=', p.source)
        .where('sourceId', '=', p.sourceId),
    ),
    /** Every document by source and name, after the given one; of one source, or of all if it is ''. */
    listDocuments: all((p: { source: string; afterSource: string; afterId: string; limit: number }) =>
      db
        .selectFrom('documents')
        .selectAll()
        .where(sql<boolean>`(source, source_id) > (${p.afterSource}, ${p.afterId})`)
        .where(sql<boolean>`(${p.source} = '' or source = ${p.source})`)
        .orderBy('source')
        .orderBy('sourceId')
        .limit(p.limit),
    ),
    listSourceCounts: all(() =>
      db
        .selectFrom('documents')
        .select(['source', db.fn.countAll<number>().as('documents')])
        .groupBy('source')
        .orderBy('source'),
    ),
    putSkipped,
    tryDeleteSkipped: attempt((p: { source: string; sourceId: string }) =>
      db.deleteFrom('skipped').where('source', '=', p.source).where('sourceId', '=', p.sourceId),
    ),
    listSkipped: all((p: { source: string }) =>
      db.selectFrom('skipped').selectAll().where('source', '=', p.source).orderBy('sourceId'),
    ),
    getSource: one((p: { name: string }) => db.selectFrom('sources').selectAll().where('name', '=', p.name)),
    listSources: all(() => db.selectFrom('sources').selectAll().orderBy('name')),
    putSource: put((p: Source) =>
      db
        .insertInto('sources')
        .values({
          name: p.name,
          state: p.state,
          checkpoint: p.checkpoint,
          notes: p.notes,
          startedAt: p.startedAt,
          syncedAt: p.syncedAt,
        })
        .onConflict((conflict) =>
          conflict.column('name').doUpdateSet((row) => ({
            state: row.ref('excluded.state'),
            checkpoint: row.ref('excluded.checkpoint'),
            notes: row.ref('excluded.notes'),
            startedAt: row.ref('excluded.startedAt'),
            syncedAt: row.ref('excluded.syncedAt'),
          })),
        ),
    ),
    tryDeleteSource: attempt((p: { name: string }) => db.deleteFrom('sources').where('name', '=', p.name)),
  };
}
