const LONGEST_WORD = 48;
/** Combining accents, as produced by decomposition. */
const ACCENTS = /[\u0300-\u036f]/g;
/** Each stands for a sentence: decomposed, a text of them would be 18 times as long. */
const SENTENCES = /[\ufdfa\ufdfb]/g;
/** Scripts without spaces between words, then other words, then emoji. */
const PARTS =
  /([\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]+)|([\p{L}\p{N}\p{M}]+)|\p{Extended_Pictographic}/gu;

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are characters like others here.
const BEYOND_ASCII = /[^\x00-\x7f]/;

/** Every word of a text, in order, in lower case and without accents. */
export function wordsOf(text: string): string[] {
  const words: string[] = [];
  for (const [part, spaceless] of withoutAccents(text).toLowerCase().matchAll(PARTS)) {
    if (spaceless === undefined) words.push(cut(part));
    else words.push(...pairsOf([...spaceless]));
  }
  return words;
}

export function withoutAccents(text: string): string {
  if (!BEYOND_ASCII.test(text)) return text;
  return text.replace(SENTENCES, ' ').normalize('NFKD').replace(ACCENTS, '');
}

/** Truncates to what an index should hold, never inside a character. */
export function cut(word: string): string {
  return word.length <= LONGEST_WORD ? word : [...word].slice(0, LONGEST_WORD).join('');
}

/** Overlapping pairs of characters: the closest thing to words in scripts without spaces. */
function pairsOf(characters: readonly string[]): string[] {
  if (characters.length === 1) return [...characters];
  return characters.slice(1).map((character, i) => `${characters[i]}${character}`);
}
