import { sql } from 'kysely';
import type { ChunkId } from '../core/ids.ts';
import type { Documents } from './document-tx.ts';
import { isOneOf, listOf } from './key-list.ts';
import type { Queries } from './query.ts';
import type { NewVector } from './views.ts';

export type VectorQueries = Pick<
  Documents,
  | 'putVectors'
  | 'getVectorState'
  | 'listVectors'
  | 'getVectors'
  | 'listUnembedded'
  | 'listVectorModels'
  | 'deleteVectors'
>;

export function vectorQueries({ engine, db, all, value, count, run }: Queries): VectorQueries {
  const raise = value((p: { by: number }) =>
    db
      .updateTable('vector_state')
      .set({ seq: sql<number>`seq + ${p.by}` })
      .where('id', '=', 1)
      .returning('seq'),
  );
  const put = run((p: NewVector & { model: string; dimension: number; seq: number }) =>
    db
      .insertInto('chunk_vectors')
      .columns(['chunkId', 'hash', 'model', 'dimension', 'vector', 'seq'])
      // A chunk that changed or was deleted meanwhile gets no vector.
      .expression(
        db
          .selectFrom('chunks')
          .select((row) => [
            row.ref('chunks.id').as('chunkId'),
            'chunks.hash',
            sql<string>`cast(${p.model} as text)`.as('model'),
            sql<number>`cast(${p.dimension} as integer)`.as('dimension'),
            sql<Buffer>`${p.vector}`.as('vector'),
            sql<number>`cast(${p.seq} as bigint)`.as('seq'),
          ])
          .where('chunks.id', '=', p.chunkId)
          .where('chunks.hash', '=', p.hash),
      )
      .onConflict((conflict) =>
        conflict.column('chunkId').doUpdateSet((row) => ({
          hash: row.ref('excluded.hash'),
          model: row.ref('excluded.model'),
          dimension: row.ref('excluded.dimension'),
          vector: row.ref('excluded.vector'),
          seq: row.ref('excluded.seq'),
        })),
      ),
  );
  const getOf = all((p: { ids: unknown; model: string }) =>
    db
      .selectFrom('chunk_vectors')
      .select(['chunkId', 'vector'])
      // Prevents an index on the model: all vectors have the same one.
      .where(sql<boolean>`model || '' = ${p.model}`)
      .where(isOneOf(engine, 'chunkId', p.ids)),
  );
  return {
    /** Returns the number stored: those whose chunks are unchanged. */
    putVectors: async (p: { model: string; dimension: number; vectors: readonly NewVector[] }): Promise<number> => {
      const { model, dimension, vectors } = p;
      const last = (await raise({ by: vectors.length })) ?? 0;
      let stored = 0;
      for (const [i, vector] of vectors.entries()) {
        stored += await put({ ...vector, model, dimension, seq: last - vectors.length + 1 + i });
      }
      return stored;
    },
    /** Increases with every stored vector. */
    getVectorState: count(() => db.selectFrom('vector_state').select('seq')),
    /** In the order in which they were stored, after `after`. */
    listVectors: all((p: { model: string; after: number; limit: number }) =>
      db
        .selectFrom('chunk_vectors')
        .select(['chunkId', 'seq', 'vector'])
        .where('model', '=', p.model)
        .where('seq', '>', p.after)
        .orderBy('seq')
        .limit(p.limit),
    ),
    getVectors: ({ ids, model }: { ids: readonly ChunkId[]; model: string }) =>
      getOf({ ids: listOf(engine, ids), model }),
    /** By key, after `after`. */
    listUnembedded: all((p: { model: string; after: number; limit: number }) =>
      db
        .selectFrom('chunks')
        .innerJoin('documents', 'documents.id', 'chunks.documentId')
        .select(['chunks.id', 'chunks.hash', 'chunks.place', 'chunks.text', 'documents.title'])
        .where('chunks.id', '>', p.after)
        .where(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom('chunk_vectors')
                .select('chunk_vectors.chunkId')
                .whereRef('chunk_vectors.chunkId', '=', 'chunks.id')
                .whereRef('chunk_vectors.hash', '=', 'chunks.hash')
                .where('chunk_vectors.model', '=', p.model),
            ),
          ),
        )
        .orderBy('chunks.id')
        .limit(p.limit),
    ),
    /** The number of vectors per model. */
    listVectorModels: all(() =>
      db
        .selectFrom('chunk_vectors')
        .select(['model', 'dimension', db.fn.countAll<number>().as('vectors')])
        .groupBy(['model', 'dimension'])
        .orderBy('model'),
    ),
    /** Deletes the vectors of every model, so that all are computed again. */
    deleteVectors: run(() => db.deleteFrom('chunk_vectors')),
  };
}
