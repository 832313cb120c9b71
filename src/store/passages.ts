import { sql } from 'kysely';
import type { AgentId, PassageId } from '../core/ids.ts';
import type { Passage } from '../core/memory.ts';
import type { BatchState } from './batch.ts';
import { indexedWords } from './fulltext.ts';
import type { Memory } from './memory-tx.ts';
import { type PassageSearchQueries, passageSearchQueries, scopedWord } from './passage-search.ts';
import { type PassageVocabularyQueries, passageVocabularyQueries } from './passage-vocabulary.ts';
import type { Queries } from './query.ts';
import type { NewPassage, PassageWords } from './views.ts';

export type PassageQueries = PassageSearchQueries &
  PassageVocabularyQueries &
  Pick<
    Memory,
    | 'insertPassage'
    | 'indexPassage'
    | 'getPassage'
    | 'getPassagesBeside'
    | 'tryDeletePassage'
    | 'listUnindexedPassages'
    | 'getPassageStats'
  >;

export function passageQueries(queries: Queries, batch: BatchState): PassageQueries {
  const { engine, db, all, one, value, put, run, attempt } = queries;
  const insert = value((p: NewPassage & { readonly seq: number }) =>
    db
      .insertInto('passages')
      .values({
        agentId: p.agentId,
        seq: engine === 'sqlite' ? p.seq : sql<number>`nextval('numbers')`,
        id: p.id,
        content: p.content,
        folded: p.folded,
        tags: p.tags,
        createdAt: p.createdAt,
        runId: p.runId,
        length: 0,
        indexed: false,
        embeddedBy: null,
      })
      .returning('seq'),
  );
  const insertWords = put((p: { rowid: number; words: string }) =>
    db.insertInto('passage_words').values({ rowid: p.rowid, words: p.words }),
  );
  const insertTag = put((p: { agentId: string; tag: string; seq: number }) =>
    db
      .insertInto('passage_tags')
      .values({ agentId: p.agentId, tag: p.tag, seq: p.seq })
      .onConflict((conflict) => conflict.doNothing()),
  );
  const removeTag = put((p: { agentId: string; tag: string; seq: number }) =>
    db.deleteFrom('passage_tags').where('agentId', '=', p.agentId).where('tag', '=', p.tag).where('seq', '=', p.seq),
  );
  const removeWords = put((p: { rowid: number }) => db.deleteFrom('passage_words').where('rowid', '=', p.rowid));
  const get = one((p: { agentId: string; id: string }) =>
    db.selectFrom('passages').selectAll().where('id', '=', p.id).where('agentId', '=', p.agentId),
  );
  /** Before its length changes. */
  const adjustStats = put((p: { agentId: string; seq: number; length: number }) =>
    db
      .updateTable('passage_stats')
      .set((eb) => ({
        length: eb(
          'length',
          '+',
          sql<number>`${p.length} - (select length from passages where agent_id = ${p.agentId} and seq = ${p.seq})`,
        ),
      }))
      .where('agentId', '=', p.agentId),
  );
  const setIndexed = put((p: { agentId: string; seq: number; length: number }) =>
    db
      .updateTable('passages')
      .set({ length: p.length, indexed: true })
      .where('agentId', '=', p.agentId)
      .where('seq', '=', p.seq),
  );
  const remove = attempt((p: { agentId: string; seq: number }) =>
    db.deleteFrom('passages').where('agentId', '=', p.agentId).where('seq', '=', p.seq),
  );
  const removeVector = run((p: { agentId: string; seq: number }) =>
    db.deleteFrom('passage_vectors').where('agentId', '=', p.agentId).where('seq', '=', p.seq),
  );
  const count = put((p: { agentId: string; passages: number; length: number }) =>
    db
      .insertInto('passage_stats')
      .values({ agentId: p.agentId, passages: p.passages, length: p.length })
      .onConflict((conflict) =>
        conflict.column('agentId').doUpdateSet((row) => ({
          passages: row('passage_stats.passages', '+', row.ref('excluded.passages')),
          length: row('passage_stats.length', '+', row.ref('excluded.length')),
        })),
      ),
  );
  const before = one((p: { agentId: string; seq: number }) =>
    db
      .selectFrom('passages')
      .selectAll()
      .where('agentId', '=', p.agentId)
      .where('seq', '<', p.seq)
      .orderBy('seq', 'desc')
      .limit(1),
  );
  const after = one((p: { agentId: string; seq: number }) =>
    db
      .selectFrom('passages')
      .selectAll()
      .where('agentId', '=', p.agentId)
      .where('seq', '>', p.seq)
      .orderBy('seq')
      .limit(1),
  );
  const putWords = (agentId: string, rowid: number, { own, near }: PassageWords) =>
    insertWords({ rowid, words: indexedWords(engine, scopedWords(agentId, { own, near })) });

  return {
    ...passageSearchQueries(queries),
    ...passageVocabularyQueries(queries),
    /** Returns its number. It is found once `indexPassage` has given it its words. */
    insertPassage: async (row: NewPassage) => {
      const seq = await insert({ ...row, seq: batch.seq });
      await count({ agentId: row.agentId, passages: 1, length: 0 });
      for (const tag of row.tags) await insertTag({ agentId: row.agentId, tag, seq: seq ?? 0 });
      return seq ?? 0;
    },
    /** Replaces the words of a passage that exists. */
    indexPassage: async ({ agentId, seq, words }: Pick<Passage, 'agentId' | 'seq'> & { words: PassageWords }) => {
      const length = words.own.length;
      await adjustStats({ agentId, seq, length });
      await setIndexed({ agentId, seq, length });
      await removeWords({ rowid: seq });
      await putWords(agentId, seq, words);
    },
    getPassage: get,
    /** The agent's passages stored directly before and after this number, whether or not it exists. */
    getPassagesBeside: async (p: { agentId: AgentId; seq: number }) => {
      const [earlier, later] = await Promise.all([before(p), after(p)]);
      return { before: earlier, after: later };
    },
    tryDeletePassage: async (p: { agentId: AgentId; id: PassageId }) => {
      const row = await get(p);
      if (!row) return false;
      await removeWords({ rowid: row.seq });
      for (const tag of row.tags) await removeTag({ agentId: p.agentId, tag, seq: row.seq });
      await removeVector({ agentId: p.agentId, seq: row.seq });
      await count({ agentId: p.agentId, passages: -1, length: -row.length });
      return remove({ agentId: p.agentId, seq: row.seq });
    },
    /** Those that are not indexed in the current way, by number. */
    listUnindexedPassages: all((p: { limit: number }) =>
      db.selectFrom('passages').selectAll().where('indexed', '=', false).orderBy('seq').limit(p.limit),
    ),
    getPassageStats: one((p: { agentId: string }) =>
      db.selectFrom('passage_stats').select(['passages', 'length']).where('agentId', '=', p.agentId),
    ),
  };
}

/** The words of a passage as its index has them. */
export function scopedWords(agentId: string, { own, near }: PassageWords): string[] {
  return [...own.map((word) => scopedWord(agentId, word)), ...near.map((word) => scopedWord(agentId, word, 'near'))];
}
