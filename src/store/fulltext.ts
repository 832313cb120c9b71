import { type RawBuilder, sql } from 'kysely';
import type { Engine } from './query.ts';

/**
 * Full-text search of each engine. Words come from src/search: only letters, digits, marks and emoji, so none of them
 * is query syntax.
 */

/** A text's words in order, in the form of the index. */
export function indexedWords(engine: Engine, words: readonly string[]): string {
  if (engine === 'sqlite') return words.join(' ');
  return words.map((word, i) => `'${word}':${Math.min(i + 1, MOST_POSITIONS)}`).join(' ');
}

/** The words of a title and a text: PostgreSQL stores both in one column, the title's with a weight. */
export function indexedColumns(
  engine: Engine,
  { title, words }: { readonly title: string; readonly words: string },
): { title: string; words: string } {
  if (engine === 'sqlite') return { title, words };
  const weighted = wordsIn(title).map((word, i) => `'${word}':${Math.min(i + 1, MOST_POSITIONS)}C`);
  return { title: '', words: `${weighted.join(' ')} ${indexedWords(engine, wordsIn(words))}` };
}

/** A query that matches texts with at least one of the words. */
export function anyOf(engine: Engine, words: readonly string[]): string {
  return words
    .map((word) => (engine === 'sqlite' ? `"${word}"` : `'${word}'`))
    .join(engine === 'sqlite' ? ' OR ' : ' | ');
}

export function matches(engine: Engine, table: string, query: string): RawBuilder<boolean> {
  if (engine === 'sqlite') return sql`${sql.table(table)} match ${query}`;
  return sql`${sql.ref(`${table}.words`)} @@ ${query}::tsquery`;
}

/** Lower is better: more of the words, and rarer ones if the engine knows their rarity. */
export function scoreOf(engine: Engine, table: string, query: string): RawBuilder<number> {
  if (engine === 'sqlite') return sql`bm25(${sql.table(table)})`;
  return sql`-ts_rank(${sql.ref(`${table}.words`)}, ${query}::tsquery)`;
}

function wordsIn(words: string): string[] {
  return words === '' ? [] : words.split(' ');
}

/** The maximum position in PostgreSQL. */
const MOST_POSITIONS = 16_383;
