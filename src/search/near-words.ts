/** Words of an index, so that a query word that is not among them finds the nearest ones. */
export interface NearWords {
  readonly size: number;
  /** Up to six words of the index in the place of one that it does not have; best first. */
  near(word: string, stem: string): Near;
}

export interface Near {
  readonly words: readonly string[];
  /** `spelling`: ü and ue; `beginning`: it begins or ends with the word; `edits`: it was probably meant. */
  readonly by: 'spelling' | 'beginning' | 'edits' | null;
}

const MOST = 6;
const SHORTEST_BEGINNING = 3;
const SHORTEST_END = 5;
const SHORTEST_EDITED = 4;
/** From this length on, two edits are allowed. */
const LONG = 6;
/** A stem may be this much shorter than the word that was typed. */
const ENDING = 4;

/** Pairs of spellings in words without accents: German umlauts and ß. */
const SPELLINGS: readonly (readonly [RegExp, string])[] = [
  [/ae/g, 'a'],
  [/oe/g, 'o'],
  [/ue/g, 'u'],
  [/ss/g, 'ß'],
  [/ß/g, 'ss'],
];

export function nearWordsOf(terms: readonly string[]): NearWords {
  const known = new Set(terms);
  const buckets = Map.groupBy(terms, (term) => term[0] ?? '');
  const masks = new Map([...buckets].map(([letter, list]) => [letter, Uint32Array.from(list, maskOf)]));
  const spelledOtherwise = (word: string): string[] => {
    const one = SPELLINGS.map(([from, to]) => word.replaceAll(from, to));
    const all = SPELLINGS.slice(0, 3).reduce((text, [from, to]) => text.replaceAll(from, to), word);
    const both = [all, all.replaceAll('ss', 'ß')];
    return [...new Set([...one, ...both])].filter((other) => other !== word && known.has(other));
  };
  const beginningWith = (word: string): string[] => {
    if (word.length < SHORTEST_BEGINNING) return [];
    return (buckets.get(word[0] as string) ?? [])
      .filter((term) => term.length > word.length && term.startsWith(word))
      .sort((a, b) => a.length - b.length || (a < b ? -1 : 1));
  };
  const endingWith = (word: string): string[] =>
    word.length < SHORTEST_END ? [] : terms.filter((term) => term.length > word.length && term.endsWith(word));
  const byEdits = (word: string, stem: string): string[] => {
    if (word.length < SHORTEST_EDITED || /\d/.test(word)) return [];
    const most = word.length >= LONG ? 2 : 1;
    const letters = maskOf(word);
    const list = buckets.get(word[0] as string) ?? [];
    const mask = masks.get(word[0] as string);
    const found: { term: string; edits: number }[] = [];
    for (const [i, term] of list.entries()) {
      if (term.length < SHORTEST_EDITED - 1 || term.length > word.length + most) continue;
      if (term.length < word.length - ENDING - most) continue;
      if (bitsOf((mask?.[i] ?? 0) & ~letters) > most) continue;
      const edits = Math.min(
        editsBetween(term, stem, most),
        editsBetween(term, word, most),
        // The index has stems, which lack the word's ending.
        term.length < word.length && term.length >= 5 ? editsBetween(term, word.slice(0, term.length), most) : Infinity,
      );
      if (edits <= most) found.push({ term, edits });
    }
    const least = Math.min(...found.map(({ edits }) => edits));
    return found
      .filter(({ edits }) => edits === least)
      .sort((a, b) => Math.abs(a.term.length - stem.length) - Math.abs(b.term.length - stem.length))
      .map(({ term }) => term);
  };
  const tries: readonly (readonly [Near['by'], (word: string, stem: string) => string[]])[] = [
    ['spelling', (word, stem) => [...spelledOtherwise(stem), ...spelledOtherwise(word)]],
    ['beginning', (word, stem) => [...new Set([...beginningWith(stem), ...beginningWith(word)])]],
    ['edits', byEdits],
    ['beginning', endingWith],
  ];
  return {
    size: terms.length,
    near: (word, stem) => {
      for (const [by, look] of tries) {
        const words = look(word, stem).slice(0, MOST);
        if (words.length > 0) return { words, by };
      }
      return { words: [], by: null };
    },
  };
}

/** Which letters a word has, one bit for each of 32 kinds. */
function maskOf(word: string): number {
  let mask = 0;
  for (let i = 0; i < word.length; i += 1) mask |= 1 << (word.charCodeAt(i) & 31);
  return mask >>> 0;
}

function bitsOf(mask: number): number {
  let bits = 0;
  for (let rest = mask >>> 0; rest !== 0; rest &= rest - 1) bits += 1;
  return bits;
}

/** Insertions, deletions, replacements and swaps of neighbours (optimal string alignment); Infinity beyond `most`. */
function editsBetween(a: string, b: string, most: number): number {
  if (Math.abs(a.length - b.length) > most) return Infinity;
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    let least = i;
    for (let j = 1; j <= b.length; j += 1) {
      const same = a[i - 1] === b[j - 1];
      let edits = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        edits = Math.min(edits, (before[j - 2] ?? 0) + 1);
      }
      row.push(edits);
      least = Math.min(least, edits);
    }
    if (least > most) return Infinity;
    [before, last] = [last, row];
  }
  const edits = last[b.length] ?? Infinity;
  return edits <= most ? edits : Infinity;
}
