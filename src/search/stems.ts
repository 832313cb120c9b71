import stem from 'wink-porter2-stemmer';
import { cut, withoutAccents, wordsOf } from './words.ts';

/** A run without spaces: a word, or a name such as `foo-bar`, `path/to/file.ts`, `user@host`, `C++`. */
const TOGETHER =
  /[\p{L}\p{N}\p{M}_]+(?:(?:[-./@:\\'’]|::|:\/\/)[\p{L}\p{N}\p{M}_]+)*(?:\+\+|#)?|\p{Extended_Pictographic}/gu;
const PLAIN = /^[a-z]+$/;
const SIMPLE = /^[a-z0-9]+$/;
const CAMEL = /(\p{Ll}|\p{N})(\p{Lu})|(\p{Lu})(\p{Lu}\p{Ll})/u;
const CAMELS = new RegExp(CAMEL, 'gu');
const HYPHENATED = /^\p{L}\p{Ll}*(?:[-'’]\p{L}\p{Ll}*)+$/u;
const SIGNS: Readonly<Record<string, string>> = { '++': 'plusplus', '#': 'sharp' };

/**
 * The stems of a text. A compound yields its parts and then the whole without punctuation, so that `foo-bar` finds
 * "foo bar", "foobar" and, ranked best, itself. The language `C++` is not `C`.
 */
export function stemsOf(text: string): string[] {
  const stems: string[] = [];
  for (const together of withoutAccents(text).match(TOGETHER) ?? []) pushStems(stems, together, EVERY, true);
  return stems;
}

const EVERY = () => true;

/**
 * The same for a query. The whole of a merely hyphenated compound is left out: it is rare and would outweigh its
 * parts, although a text about "boundary layers" answers `boundary-layer` just as well.
 */
export function askedStems(text: string, wanted: (word: string) => boolean): string[] {
  const stems: string[] = [];
  for (const together of withoutAccents(text).match(TOGETHER) ?? []) {
    pushStems(stems, together, wanted, !HYPHENATED.test(together));
  }
  return stems;
}

function pushStems(stems: string[], together: string, wanted: (word: string) => boolean, withWhole: boolean): void {
  if (SIMPLE.test(together)) {
    if (wanted(together)) stems.push(stemOf(cut(together)));
    return;
  }
  const small = together.toLowerCase();
  if (PLAIN.test(small) && !CAMEL.test(together)) {
    if (wanted(small)) stems.push(stemOf(cut(small)));
  } else pushName(stems, together, wanted, withWhole);
}

function pushName(stems: string[], name: string, wanted: (word: string) => boolean, withWhole: boolean): void {
  const sign = /(?:\+\+|#)$/.exec(name)?.[0] ?? '';
  const bare = name.slice(0, name.length - sign.length).replace(/['’]s$/i, '');
  const parts = wordsOf(bare.replace(CAMELS, '$1$3 $2$4'));
  for (const part of parts) if (wanted(part)) stems.push(stemOf(part));
  const whole = cut(wordsOf(bare.replace(/[^\p{L}\p{N}\p{M}]/gu, '')).join(''));
  if (sign) stems.push(`${whole}${SIGNS[sign]}`);
  else if (withWhole && parts.length > 1 && PLAIN_NAME.test(whole)) stems.push(whole);
}

/** A whole that was cut into character pairs does not count. */
const PLAIN_NAME = /^[\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}\p{N}\p{M}]+$/u;

const known = new Map<string, string>();
const MOST_KNOWN = 50_000;

/** Words repeat, so most stems come from the cache. */
function stemOf(word: string): string {
  const before = known.get(word);
  if (before !== undefined) return before;
  if (known.size >= MOST_KNOWN) known.clear();
  const made = PLAIN.test(word) ? stem(word) : word;
  known.set(word, made);
  return made;
}
