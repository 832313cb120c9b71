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

function wordsIn(words: string): string[] {
  return words === '' ? [] : words.split(' ');
}

/** The maximum position in PostgreSQL. */
const MOST_POSITIONS = 16_383;
