import { type RawBuilder, sql } from 'kysely';
import type { Engine } from './query.ts';

/**
 * Full text as each engine has it. Words come in ready made (src/search): letters, digits, marks and emoji only, so none of
 * them can be taken for the language of queries.
 */

/** A text's words, in order, as the index takes them. */
export function indexedWords(engine: Engine, words: readonly string[]): string {
  if (engine === 'sqlite') return words.join(' ');
  return words.map((word, i) => `'${word}':${Math.min(i + 1, MOST_POSITIONS)}`).join(' ');
}

/** A title's words and a text's, where both are indexed: PostgreSQL has them in one column, the title's with a weight. */
export function indexedColumns(
  engine: Engine,
  { title, words }: { readonly title: string; readonly words: string },
): { title: string; words: string } {
  if (engine === 'sqlite') return { title, words };
  const weighted = wordsIn(title).map((word, i) => `'${word}':${Math.min(i + 1, MOST_POSITIONS)}C`);
  return { title: '', words: `${weighted.join(' ')} ${indexedWords(engine, wordsIn(words))}` };
}

/** What finds every text that has at least one of the words. */
export function anyOf(engine: Engine, words: readonly string[]): string {
  return words
    .map((word) => (engine === 'sqlite' ? `"${word}"` : `'${word}'`))
    .join(engine === 'sqlite' ? ' OR ' : ' | ');
}

export function matches(engine: Engine, table: string, query: string): RawBuilder<boolean> {
  if (engine === 'sqlite') return sql`${sql.table(table)} match ${query}`;
  return sql`${sql.ref(`${table}.words`)} @@ ${query}::tsquery`;
}

/** The lower, the better: more of the words, and rarer ones where the engine knows how rare they are. */
export function scoreOf(engine: Engine, table: string, query: string): RawBuilder<number> {
  if (engine === 'sqlite') return sql`bm25(${sql.table(table)})`;
  return sql`-ts_rank(${sql.ref(`${table}.words`)}, ${query}::tsquery)`;
}

function wordsIn(words: string): string[] {
  return words === '' ? [] : words.split(' ');
}

/** PostgreSQL counts no further. */
const MOST_POSITIONS = 16_383;
