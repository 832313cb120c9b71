import { stemsOf } from './stems.ts';

const TOGETHER = /[\p{L}\p{N}\p{M}_][^\s]*/gu;

/** The part of a text that has the most of the words, not longer than `length` characters, with … where something is left out. */
export function snippetOf(text: string, words: readonly string[], length: number): string {
  const trimmed = text.trim();
  if (trimmed.length <= length) return trimmed;
  const start = lineOrWordBefore(trimmed, bestStart(trimmed, new Set(words), length));
  const end = start + length >= trimmed.length ? trimmed.length : wordBefore(trimmed, start + length);
  return `${start > 0 ? '…' : ''}${trimmed.slice(start, end).trim()}${end < trimmed.length ? '…' : ''}`;
}

/** Where the stretch begins that has the most different words; the first of equals. */
function bestStart(text: string, words: ReadonlySet<string>, length: number): number {
  const hits: { at: number; stems: string[] }[] = [];
  for (const match of text.matchAll(TOGETHER)) {
    const stems = stemsOf(match[0]).filter((stem) => words.has(stem));
    if (stems.length > 0) hits.push({ at: match.index, stems });
  }
  let [best, most] = [0, 0];
  for (const [i, { at }] of hits.entries()) {
    const inside = hits.slice(i, i + length).filter((hit) => hit.at < at + length - MARGIN);
    const different = new Set(inside.flatMap(({ stems }) => stems)).size;
    if (different > most) [best, most] = [at, different];
  }
  // A little of what stands before, so that it can be understood.
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
