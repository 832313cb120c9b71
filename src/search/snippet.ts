import { stemsOf } from './stems.ts';

const SPACE = /\s/;
/** A word and its stem share a prefix: all but the last letters of the stem, and at least this many letters. */
const SAME = 3;
const ENDING = 2;
const LONGEST = 100;
const MOST_HITS = 100;

/** Returns the part of a text with the most of the words, at most `length` characters, with … where text is cut. */
export function snippetOf(text: string, words: readonly string[], length: number): string {
  const trimmed = text.trim();
  if (trimmed.length <= length) return trimmed;
  const start = lineOrWordBefore(trimmed, bestStart(trimmed, new Set(words), length));
  const end = start + length >= trimmed.length ? trimmed.length : wordBefore(trimmed, start + length);
  return `${start > 0 ? '…' : ''}${trimmed.slice(start, end).trim()}${end < trimmed.length ? '…' : ''}`;
}

/** The words of a text that are among `words` or have the same stem, as written, each once, in order. */
export function matchedWords(text: string, words: readonly string[]): string[] {
  const found = findHits(text, new Set(words)).map(({ at }) => around(text, at));
  const written = found.map(({ at, end }) => text.slice(at, end).replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, ''));
  return [...new Set(written)].filter((word) => word !== '');
}

/** Start of the window with the most different words; the first one on a tie. */
function bestStart(text: string, words: ReadonlySet<string>, length: number): number {
  const hits = findHits(text, words);
  let [best, most] = [0, 0];
  for (const [i, { at }] of hits.entries()) {
    const inside = hits.slice(i, i + length).filter((hit) => hit.at < at + length - MARGIN);
    const different = new Set(inside.flatMap(({ stems }) => stems)).size;
    if (different > most) [best, most] = [at, different];
  }
  // Some context before the match.
  return Math.max(0, best - MARGIN);
}

const MARGIN = 40;

function lineOrWordBefore(text: string, at: number): number {
  if (at === 0) return 0;
  const line = text.lastIndexOf('\n', at + MARGIN / 2) + 1;
  if (line > at - MARGIN && line <= at + MARGIN / 2) return line;
  const space = text.slice(at, at + MARGIN).search(/\s/);
  return space < 0 ? at : at + space + 1;
}

function wordBefore(text: string, at: number): number {
  const space = text.slice(0, at).search(/\s\S*$/);
  return space > at - MARGIN ? space : at;
}

interface Hit {
  readonly at: number;
  readonly stems: readonly string[];
}

/** Positions of the words. Searching for the prefix of a stem is much faster than stemming the whole text. */
function findHits(text: string, words: ReadonlySet<string>): Hit[] {
  const small = text.toLowerCase();
  // Some letters become two in lower case, which would shift positions.
  if (small.length !== text.length) return [];
  const hits = new Map<number, Hit>();
  for (const word of words) {
    const beginning = word.slice(0, Math.max(SAME, word.length - ENDING));
    let place = small.indexOf(beginning);
    for (let n = 0; place >= 0 && n < MOST_HITS; n += 1) {
      const { at, end } = around(text, place);
      if (!hits.has(at)) {
        const stems = stemsOf(text.slice(at, end)).filter((stem) => words.has(stem));
        if (stems.length > 0) hits.set(at, { at, stems });
      }
      place = small.indexOf(beginning, Math.max(end, place + 1));
    }
  }
  return [...hits.values()].sort((a, b) => a.at - b.at);
}

/** The run of non-space characters at this position. */
function around(text: string, place: number): { at: number; end: number } {
  let [at, end] = [place, place];
  while (at > 0 && place - at < LONGEST && !SPACE.test(text[at - 1] as string)) at -= 1;
  while (end < text.length && end - place < LONGEST && !SPACE.test(text[end] as string)) end += 1;
  return { at, end };
}
