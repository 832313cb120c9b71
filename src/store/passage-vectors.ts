import { sql } from 'kysely';
import type { AgentId } from '../core/ids.ts';
import { isOneOf, listOf } from './key-list.ts';
import type { Memory } from './memory-tx.ts';
import type { Queries } from './query.ts';

export type PassageVectorQueries = Pick<
  Memory,
  | 'listUnembeddedPassages'
  | 'putPassageVectors'
  | 'forgetPassageVectors'
  | 'listPassageVectors'
  | 'getPassageVectors'
  | 'countPassageVectors'
>;

interface Row {
  readonly agentId: string;
  readonly seq: number;
  readonly model: string;
}

export function passageVectorQueries({ engine, db, all, value, count, run, attempt }: Queries): PassageVectorQueries {
  const raise = value((p: { by: number }) =>
    db
      .updateTable('vector_state')
      .set({ seq: sql<number>`seq + ${p.by}` })
      .where('id', '=', 1)
      .returning('seq'),
  );
  const setEmbedded = attempt((p: Row) =>
    db.updateTable('passages').set({ embeddedBy: p.model }).where('agentId', '=', p.agentId).where('seq', '=', p.seq),
  );
  const put = run((p: Row & { dimension: number; number: number; vector: Buffer }) =>
    db
      .insertInto('passage_vectors')
      .values({
        agentId: p.agentId,
        seq: p.seq,
        model: p.model,
        dimension: p.dimension,
        number: p.number,
        vector: p.vector,
      })
      .onConflict((conflict) =>
        conflict.columns(['agentId', 'seq']).doUpdateSet((row) => ({
          model: row.ref('excluded.model'),
          dimension: row.ref('excluded.dimension'),
          number: row.ref('excluded.number'),
          vector: row.ref('excluded.vector'),
        })),
      ),
  );
  const getOf = all((p: { agentId: string; model: string; seqs: unknown }) =>
    db
      .selectFrom('passage_vectors')
      .select(['seq', 'vector'])
      .where('agentId', '=', p.agentId)
      .where(sql<boolean>`model || '' = ${p.model}`)
      .where(isOneOf(engine, 'seq', p.seqs)),
  );
  return {
    listUnembeddedPassages: all((p: { nodeId: string; limit: number }) =>
      db
        .selectFrom('passages')
        .innerJoin('agents', 'agents.id', 'passages.agentId')
        .selectAll('passages')
        .where('passages.embeddedBy', 'is', null)
        .where('agents.nodeId', '=', p.nodeId)
        .orderBy('passages.seq')
        .limit(p.limit),
    ),
    putPassageVectors: async ({ model, dimension, vectors }) => {
      const last = (await raise({ by: vectors.length })) ?? 0;
      let stored = 0;
      for (const [i, { agentId, seq, vector }] of vectors.entries()) {
        // A passage that was deleted meanwhile gets no vector.
        if (!(await setEmbedded({ agentId, seq, model }))) continue;
        stored += await put({ agentId, seq, model, dimension, vector, number: last - vectors.length + 1 + i });
      }
      return stored;
    },
    forgetPassageVectors: run((p: { model: string }) =>
      db
        .updateTable('passages')
        .set({ embeddedBy: null })
        .where('embeddedBy', 'is not', null)
        .where('embeddedBy', '!=', p.model),
    ),
    listPassageVectors: all((p: { agentId: string; model: string; after: number; limit: number }) =>
      db
        .selectFrom('passage_vectors')
        .select(['seq', 'number', 'vector'])
        .where('agentId', '=', p.agentId)
        .where('model', '=', p.model)
        .where('number', '>', p.after)
        .orderBy('number')
        .limit(p.limit),
    ),
    getPassageVectors: ({ agentId, model, seqs }: { agentId: AgentId; model: string; seqs: readonly number[] }) =>
      getOf({ agentId, model, seqs: listOf(engine, seqs) }),
    countPassageVectors: count((p: { agentId: string; model: string }) =>
      db
        .selectFrom('passage_vectors')
        .select(db.fn.countAll<number>().as('vectors'))
        .where('agentId', '=', p.agentId)
        .where('model', '=', p.model),
    ),
  };
}
