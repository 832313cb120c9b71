/**
 * What a reader takes a character for.
 *
 * - `break`: the end of a line for some program.
 * - `skip`: a space, an accent, Markdown emphasis, or an invisible character.
 * - `mark`: punctuation and symbols, which stand before or after a word but not within it.
 * - `other`: a letter that none of the words contains.
 * - letters: the Latin letters that it looks like, in lower case. They are `soft` if the character can also be a
 *   mark: digits, symbols, and tags, which only models read.
 */
export type Reading = 'break' | 'skip' | 'mark' | 'other' | { readonly letters: string; readonly soft: boolean };

/** `I`, `l`, `1` and `|` look the same: all of them are `i`. */
export const ALPHABET = 'abcdefgimnoprstuy:';

export function readingOf(character: string): Reading {
  const code = character.codePointAt(0) ?? 0;
  if (/^(?:[^\P{Cc}\t]|[\u2028\u2029])$/u.test(character)) return 'break';
  if (code >= 0xe0020 && code <= 0xe007e) return asSoft(readingOf(String.fromCodePoint(code - 0xe0000)));
  if (/\p{Default_Ignorable_Code_Point}/u.test(character)) return 'skip';
  if (/[\s\p{M}\p{C}\p{Pd}*_~`\u2800]/u.test(character)) return 'skip';
  const soft = !/\p{L}/u.test(character);
  const letters = lettersOf(character);
  if (letters === null) return soft ? 'mark' : 'other';
  return { letters, soft };
}

function asSoft(reading: Reading): Reading {
  return typeof reading === 'string' ? 'skip' : { ...reading, soft: true };
}

/** The letters without style, width and accents; null if one of them is not in the alphabet. */
function lettersOf(character: string): string | null {
  const known = LETTERS.get(character);
  if (known !== undefined) return ALPHABET.includes(known) ? known : null;
  const parts = Array.from(character.normalize('NFKD'), (part) => LETTERS.get(part) ?? part.toLowerCase());
  const letters = parts.filter((part) => !/^[\s\p{M}\p{P}\p{S}\p{N}\p{C}]$/u.test(part) || part === ':').join('');
  return letters !== '' && [...letters].every((letter) => ALPHABET.includes(letter)) ? letters : null;
}

const LOOK_ALIKES: Readonly<Record<string, string>> = {
  a: 'аАαΑɑᴀᎪ⍺ꓮΛ4@',
  b: 'ВвΒβьЬʙᏏᏴꓐᖯƅƀɓ8ß',
  c: 'сСϲϹᴄⲥⲤᏟꓚ¢ƈ',
  d: 'ԁᎠꓓᴅɗđĐɖᏧᑯժ',
  e: 'еЕєεΕᴇҽ℮ᎬꓰɛəэЭ3€',
  f: 'ғꜰƒϝϜքꓝꬵ',
  g: 'ɡցɢԌᏀꓖǥɠᶃ9',
  i: 'lLіІιΙıɪӏӀꙇᎥ⍳ɩǀ∣ʟᏞꓡƖłŁⲒⲓ1|!',
  m: 'мМΜᴍᎷꓟϺɱ',
  n: 'пПոռɴΝηИиꓠŋƞɲղ',
  o: 'оОοΟσᴏօՕøØⲟⲞꓳዐ○◯〇ⵔഠဝ௦०০੦๐໐ɵƟөӨ0',
  p: 'рРρΡᴘᏢꓑⲣⲢƿþᑭҏ',
  r: 'гГᴦʀᎡᏒꓣɾɽꭇⲅƦᖇяЯ',
  s: 'ѕЅꜱᏚꓢƽՏʂ5$§ꙅᔕ',
  t: 'тТτΤᴛᎢꓔⲧⲦƭŧŦ7†⊤+',
  u: 'υսᴜʋμՍꓴ∪ʊᑌцЦ',
  y: 'уУүҮγΥʏᎩᎽꓬɣყƴ¥',
  ':': '꞉ː∶׃։ꓽ፡',
};

/** Circled, squared and flag letters, which NFKD leaves unchanged: a whole alphabet starts at each of these. */
const FIRST_LETTERS = [0x1f150, 0x1f170, 0x1f1e6];

const LETTERS: ReadonlyMap<string, string> = new Map([
  ...Object.entries(LOOK_ALIKES).flatMap(([letter, others]) => Array.from(others, (other) => [other, letter] as const)),
  ...FIRST_LETTERS.flatMap((first) =>
    Array.from(
      { length: 26 },
      (_, i) => [String.fromCodePoint(first + i), 'abcdefghijkimnopqrstuvwxyz'.charAt(i)] as const,
    ),
  ),
]);
