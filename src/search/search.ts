/**
 * What people type, and what they search in, as words: both become the same ones, whatever signs stand between them, so a
 * query is never a language that somebody could get wrong.
 */

const MOST_QUERY_WORDS = 64;
const LONGEST_WORD = 48;
/** What accents become when letters are taken apart. */
const ACCENTS = /[\u0300-\u036f]/g;
/** Scripts that put no spaces between words, then other words, then emoji. */
const PARTS =
  /([\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]+)|([\p{L}\p{N}\p{M}]+)|\p{Extended_Pictographic}/gu;

/** Every word of a text, in order, in small letters without accents. */
export function wordsOf(text: string): string[] {
  const words: string[] = [];
  for (const [part, spaceless] of text.normalize('NFKD').replace(ACCENTS, '').toLowerCase().matchAll(PARTS)) {
    if (spaceless === undefined) words.push([...part].slice(0, LONGEST_WORD).join(''));
    else words.push(...pairsOf([...spaceless]));
  }
  return words;
}

/** Raised whenever `chunkWords` makes other words of the same chunk: then everything is indexed anew. */
export const WORDS_VERSION = 1;

/** The words by which a chunk is found: its document's title and the headings above it, and its text. */
export function chunkWords(chunk: { title: string | null; headings: readonly string[]; text: string }): {
  title: string[];
  words: string[];
} {
  return { title: wordsOf([chunk.title ?? '', ...chunk.headings].join('\n')), words: wordsOf(chunk.text) };
}

/** The words to search for, each once. They are optional, so a text as long as a page finds what is most like it. */
export function queryWords(query: string): string[] {
  return [...new Set(wordsOf(query))].slice(0, MOST_QUERY_WORDS);
}

/** Two neighbouring characters at a time: the nearest thing to a word where nothing stands between words. */
function pairsOf(characters: readonly string[]): string[] {
  if (characters.length === 1) return [...characters];
  return characters.slice(1).map((character, i) => `${characters[i]}${character}`);
}
