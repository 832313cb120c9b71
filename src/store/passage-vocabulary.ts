import { sql } from 'kysely';
import { listOf } from './key-list.ts';
import type { Memory } from './memory-tx.ts';
import { scopedWord } from './passage-search.ts';
import type { Queries } from './query.ts';

export type PassageVocabularyQueries = Pick<Memory, 'listPassageTerms' | 'listUnknownPassageWords'>;

/** After every word with the same beginning. */
const LAST = '\u{10ffff}';
/** PostgreSQL's index does not list its words, so they are read from this many passages. */
const MOST_READ = 1000;

export function passageVocabularyQueries({ engine, db, all, fetch }: Queries): PassageVocabularyQueries {
  const between = all((p: { from: string; to: string; limit: number }) =>
    db
      .selectFrom('passage_vocabulary')
      .select('term')
      .where('term', '>=', p.from)
      .where('term', '<', p.to)
      .orderBy('term')
      .limit(p.limit),
  );
  const onPostgres = (beginning: string, limit: number) => {
    const query = sql<{ term: string }>`
      select distinct word.lexeme collate "C" as term
      from (select words from passage_words where words @@ ${`'${beginning}':*`}::tsquery limit ${MOST_READ}) as having_it
        cross join lateral unnest(words) as word
      where starts_with(word.lexeme, ${beginning}) order by term limit ${limit}`;
    return fetch({ compile: () => query.compile(db) });
  };
  const known = all((p: { own: string; near: string }) =>
    db.selectFrom('passage_vocabulary').select('term').where('term', 'in', [p.own, p.near]).limit(1),
  );
  const unknownOnPostgres = (terms: readonly string[]) => {
    const query = sql<{ nth: number }>`
      select nth from unnest(${listOf('postgres', terms)}::text[]) with ordinality as asked (term, nth)
      where not exists (select from passage_words where words @@ term::tsquery) order by nth`;
    return fetch({ compile: () => query.compile(db) });
  };

  return {
    listPassageTerms: async ({ agentId, beginning, limit }) => {
      const from = scopedWord(agentId, beginning);
      const rows = await (engine === 'sqlite'
        ? between({ from, to: `${from}${LAST}`, limit })
        : onPostgres(from, limit));
      const mark = from.length - beginning.length;
      return rows.map(({ term }) => term.slice(mark));
    },
    listUnknownPassageWords: async ({ agentId, words }) => {
      const scoped = words.map((word) => ({
        own: scopedWord(agentId, word),
        near: scopedWord(agentId, word, 'near'),
      }));
      if (engine === 'postgres') {
        const rows = await unknownOnPostgres(scoped.map(({ own, near }) => `'${own}' | '${near}'`));
        return rows.map(({ nth }) => words[Number(nth) - 1] as string);
      }
      const unknown: string[] = [];
      for (const [i, terms] of scoped.entries())
        if ((await known(terms)).length === 0) unknown.push(words[i] as string);
      return unknown;
    },
  };
}
