import { stemText } from './stem-text.ts';
import { askedStems, stemsOf } from './stems.ts';
import { isStopWord } from './stop-words.ts';
import { wordsOf } from './words.ts';

export { snippetOf } from './snippet.ts';
export { wordsOf } from './words.ts';

/**
 * What people type, and what they search in, as words: both become the same ones, whatever signs stand between them, so a
 * query is never a language that somebody could get wrong. Passages and chunks are indexed by stems.
 */

const MOST_QUERY_WORDS = 64;
const MOST_PHRASES = 8;
const MOST_PHRASE_WORDS = 32;
/** More than anybody types. Of a longer text, what comes first is looked at. */
const MOST_QUERY_CHARACTERS = 20_000;

/** The words by which a passage is found. */
export function passageWords({ content, tags }: { content: string; tags: readonly string[] }): string[] {
  return stemsOf([content, ...tags].join('\n'));
}

/**
 * What to look for in the index of passages, each once: stems, and the words as they are, by which the oldest passages are
 * indexed. They are optional, so a text as long as a page finds what is most like it.
 */
export function passageQuery(query: string): string[] {
  const { words } = chunkQuery(query);
  const plain = wordsOf(query.slice(0, MOST_QUERY_CHARACTERS)).filter((word) => !isStopWord(word));
  return [...new Set([...words, ...plain.slice(0, MOST_QUERY_WORDS)])];
}

/** Raised whenever `chunkWords` makes other words of the same chunk: then everything is indexed anew. */
export const WORDS_VERSION = 1;

/** The words by which a chunk is found, with spaces between them: its document's title and the headings above it, and its text. */
export function chunkWords(chunk: { title: string | null; headings: readonly string[]; text: string }): {
  title: string;
  words: string;
} {
  return { title: stemText([chunk.title ?? '', ...chunk.headings].join('\n')), words: stemText(chunk.text) };
}

/** What to look for in the index of chunks. Everything in it is optional, and more of it ranks higher. */
export interface ChunkQuery {
  readonly words: readonly string[];
  /** What was put in quotes, as words that follow each other. */
  readonly phrases: readonly (readonly string[])[];
}

/**
 * Words that are everywhere are left out where others remain: they find nothing and cost the most. Of a long text the words
 * that it has most often are taken, the longer of equals: those say best what it is about.
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
  const phrases = [...text.matchAll(/["“”„«]([^"“”„«»]{1,500})["“”»]/g)].map(([, quoted = '']) => stemsOf(quoted));
  return {
    words: words.slice(0, MOST_QUERY_WORDS),
    phrases: phrases
      .filter(({ length }) => length > 1)
      .map((phrase) => phrase.slice(0, MOST_PHRASE_WORDS))
      .slice(0, MOST_PHRASES),
  };
}
