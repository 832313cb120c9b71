import { stemText } from './stem-text.ts';
import { askedStems, stemsOf } from './stems.ts';
import { isStopWord } from './stop-words.ts';

export { closeness, coverage, fromZeroToOne } from './calibrate.ts';
export { didYouMean, MOST_TYPED, type NearQuery, NOTHING_NEAR, nearQueryOf } from './near-query.ts';
export { type NearWords, nearWordsOf } from './near-words.ts';
export { passageWords } from './passage-words.ts';
export { matchedWords, snippetOf } from './snippet.ts';
export { stemsOf } from './stems.ts';
export { withoutAccents, wordsOf } from './words.ts';

/**
 * Turns queries and indexed text into the same words, whatever punctuation stands between them. A query has no
 * syntax, so it cannot be malformed. Passages and chunks are indexed by stems.
 */

const MOST_QUERY_WORDS = 64;
const MOST_PHRASES = 8;
const MOST_PHRASE_WORDS = 32;
/** Longer than anybody types. Only this much of a longer text is used. */
const MOST_QUERY_CHARACTERS = 20_000;

/**
 * The terms to look up in the index of passages. All are optional, so a query as long as a page finds the most similar
 * passages.
 */
export function passageQuery(query: string): ChunkQuery {
  return chunkQuery(query);
}

/** Increment whenever `chunkWords` returns other words for the same chunk: everything is then reindexed. */
export const WORDS_VERSION = 2;

/**
 * The words by which a chunk is found, separated by spaces: the document's title, the headings above the chunk, and
 * its text. `path` is the document's name in its source, for its first chunk: a document is one result.
 */
export function chunkWords(chunk: {
  title: string | null;
  headings: readonly string[];
  text: string;
  path?: string | null;
}): {
  title: string;
  words: string;
} {
  const above = [chunk.title ?? '', ...chunk.headings, chunk.path ?? ''];
  return { title: stemText(above.join('\n')), words: stemText(chunk.text) };
}

/** The terms to look up in the index of chunks. All are optional; more matches rank higher. */
export interface ChunkQuery {
  readonly words: readonly string[];
  /** Quoted phrases, as consecutive words. */
  readonly phrases: readonly (readonly string[])[];
}

/**
 * Stop words are left out if other words remain: they match everything and cost the most. Of a long text, the most
 * frequent words are used, longer ones first: they say best what it is about.
 */
export function chunkQuery(query: string): ChunkQuery {
  const text = query.slice(0, MOST_QUERY_CHARACTERS);
  const counts = new Map<string, number>();
  for (const stem of askedStems(text, (word) => !isStopWord(word))) counts.set(stem, (counts.get(stem) ?? 0) + 1);
  if (counts.size === 0) for (const stem of stemsOf(text)) counts.set(stem, 1);
  const words = [...counts.keys()];
  if (words.length > MOST_QUERY_WORDS) {
    words.sort((a, b) => (counts.get(b) ?? 0) - (counts.get(a) ?? 0) || b.length - a.length);
  }
  // A number with separators is also looked up without them.
  for (const [number] of text.matchAll(/\d{1,3}(?:[.,'’ \u00a0\u202f]\d{3})+(?!\d)/g))
    words.push(number.replace(/\D/g, ''));
  const phrases = [...text.matchAll(/["“”„«]([^"“”„«»]{1,500})["“”»]/g)].map(([, quoted = '']) => stemsOf(quoted));
  return {
    words: words.slice(0, MOST_QUERY_WORDS),
    phrases: phrases
      .filter(({ length }) => length > 1)
      .map((phrase) => phrase.slice(0, MOST_PHRASE_WORDS))
      .slice(0, MOST_PHRASES),
  };
}
