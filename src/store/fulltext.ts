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

/**
 * The words of a title and a text. PostgreSQL stores both in one column: the title's words after the text's, with a
 * weight and with a gap between them, so that no phrase begins in one and ends in the other.
 */
export function indexedColumns(
  engine: Engine,
  { title, words }: { readonly title: string; readonly words: string },
): { title: string; words: string } {
  if (engine === 'sqlite') return { title, words };
  const text = wordsIn(words);
  const first = text.length + 2;
  const weighted = wordsIn(title).map((word, i) => `'${word}':${Math.min(first + i, MOST_POSITIONS)}C`);
  return { title: '', words: [indexedWords(engine, text), ...weighted].join(' ') };
}

function wordsIn(words: string): string[] {
  return words === '' ? [] : words.split(' ');
}

/** The maximum position in PostgreSQL. */
const MOST_POSITIONS = 16_383;
