import { hash } from 'node:crypto';
import { sql } from 'kysely';
import type { AgentId, PassageId } from '../core/ids.ts';
import { anyOf, indexedWords, matches, scoreOf } from './fulltext.ts';
import type { Queries } from './query.ts';
import type { Memory } from './tx.ts';
import type { NewPassage, PassageFilter } from './views.ts';

export type PassageQueries = Pick<
  Memory,
  'insertPassage' | 'getPassage' | 'tryDeletePassage' | 'listPassages' | 'findPassages' | 'findPassagesContaining'
>;

interface Holes {
  readonly agentId: string;
  readonly tag: string;
  readonly since: number;
  readonly until: number;
}

export function passageQueries({ engine, db, all, one, put, run, attempt }: Queries): PassageQueries {
  const insert = put((p: Omit<NewPassage, 'words'>) =>
    db.insertInto('passages').values({
      agentId: p.agentId,
      seq: p.seq,
      id: p.id,
      content: p.content,
      folded: p.folded,
      tags: p.tags,
      createdAt: p.createdAt,
    }),
  );
  const insertWords = put((p: { rowid: number; words: string }) =>
    db.insertInto('passage_words').values({ rowid: p.rowid, words: p.words }),
  );
  const get = one((p: { agentId: string; id: string }) =>
    db.selectFrom('passages').selectAll().where('id', '=', p.id).where('agentId', '=', p.agentId),
  );
  const remove = attempt((p: { agentId: string; seq: number }) =>
    db.deleteFrom('passages').where('agentId', '=', p.agentId).where('seq', '=', p.seq),
  );
  const removeWords = run((p: { rowid: number }) => db.deleteFrom('passage_words').where('rowid', '=', p.rowid));

  const position = sql.raw(engine === 'sqlite' ? 'instr' : 'strpos');
  /** Every text contains the empty one, which therefore means "any tag". */
  const wanted = (p: Holes) =>
    sql<boolean>`passages.agent_id = ${p.agentId} and passages.created_at >= ${p.since}
      and passages.created_at < ${p.until} and ${position}(passages.tags, ${p.tag}) > 0`;
  const filtered = (p: Holes) => db.selectFrom('passages').selectAll('passages').where(wanted(p));
  const holes = ({ agentId, tag, since, until }: PassageFilter): Holes => ({
    agentId,
    tag: tag === null ? '' : JSON.stringify(tag),
    since,
    until,
  });
  const list = all((p: Holes & { before: number; limit: number }) =>
    filtered(p).where('passages.seq', '<', p.before).orderBy('passages.seq', 'desc').limit(p.limit),
  );
  const find = all((p: Holes & { query: string; candidates: number; limit: number }) =>
    db
      .selectFrom(
        db
          .selectFrom('passage_words')
          .select(['rowid as seq', scoreOf(engine, 'passage_words', p.query).as('score')])
          .where(matches(engine, 'passage_words', p.query))
          .orderBy('score')
          .orderBy('rowid', 'desc')
          .limit(p.candidates)
          .as('found'),
      )
      // SQLite joins the tables of a cross join in this order, so it looks up the matches.
      .crossJoin('passages')
      .selectAll('passages')
      .whereRef('passages.seq', '=', 'found.seq')
      .where(wanted(p))
      .orderBy('found.score')
      .orderBy('passages.seq', 'desc')
      .limit(p.limit),
  );
  const like = sql.raw(engine === 'sqlite' ? 'like' : 'ilike');
  const contain = all((p: Holes & { pattern: string; limit: number }) =>
    filtered(p)
      .where(sql<boolean>`coalesce(passages.folded, passages.content) ${like} ${p.pattern} escape '\\'`)
      .orderBy('passages.seq', 'desc')
      .limit(p.limit),
  );

  return {
    insertPassage: async ({ words, ...row }: NewPassage) => {
      await insert(row);
      await insertWords({ rowid: row.seq, words: indexedWords(engine, scoped(row.agentId, words)) });
    },
    getPassage: get,
    tryDeletePassage: async (p: { agentId: AgentId; id: PassageId }) => {
      const row = await get(p);
      if (!row) return false;
      await removeWords({ rowid: row.seq });
      return remove({ agentId: p.agentId, seq: row.seq });
    },
    /** Newest first. */
    listPassages: ({ before, limit, ...filter }: PassageFilter & { before: number; limit: number }) =>
      list({ ...holes(filter), before, limit }),
    /**
     * Passages with any of the words, best first, newest of equals first. Without further filters the index applies
     * the limit itself, so that only the results are read.
     */
    findPassages: ({ words, limit, ...filter }: PassageFilter & { words: readonly string[]; limit: number }) => {
      const all = filter.tag === null && filter.since <= 0 && filter.until === Number.MAX_SAFE_INTEGER;
      const candidates = all ? limit : Number.MAX_SAFE_INTEGER;
      return find({ ...holes(filter), query: anyOf(engine, scoped(filter.agentId, words)), candidates, limit });
    },
    /** Passages that contain the text, case-insensitively, newest first. */
    findPassagesContaining: ({ text, limit, ...filter }: PassageFilter & { text: string; limit: number }) =>
      contain({ ...holes(filter), pattern: `%${text.toLowerCase().replace(/[\\%_]/g, '\\$&')}%`, limit }),
  };
}

/**
 * In the index, each word has a prefix for its agent. So a search only touches this agent's words, however many
 * others there are, and a word's rarity is that among its own passages. The prefix is short and two agents could
 * share one, so the owner is checked as well.
 */
export function scoped(agentId: string, words: readonly string[]): string[] {
  const mark = hash('sha256', agentId, 'hex').slice(0, 10);
  return words.map((word) => `${mark}${word}`);
}
