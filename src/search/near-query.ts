import type { Near } from './near-words.ts';
import { stemsOf } from './stems.ts';
import { otherUnits } from './units.ts';
import { wordsOf } from './words.ts';

/** What is looked up besides a query's own words, and counts less. */
export interface NearQuery {
  readonly words: readonly string[];
  readonly phrases: readonly (readonly string[])[];
  /** What stands in the place of which typed word. */
  readonly meant: readonly { readonly typed: string; readonly stems: readonly string[]; readonly by: Near['by'] }[];
}

export const NOTHING_NEAR: NearQuery = { words: [], phrases: [], meant: [] };
/** A pasted page has many words of its own; only a query that somebody typed is helped. */
export const MOST_TYPED = 12;

/**
 * Words in the place of those that the index does not have, numbers with separators, and amounts with their unit
 * written in another way.
 */
export function nearQueryOf(
  text: string,
  unknown: readonly string[],
  near: (typed: string, stem: string) => Near | null,
): NearQuery {
  const typedAs = new Map(wordsOf(text).map((word) => [stemsOf(word)[0] ?? word, word]));
  const meant = unknown.flatMap((stem) => {
    const typed = typedAs.get(stem) ?? stem;
    const { words, by } = near(typed, stem) ?? { words: [], by: null };
    return words.length > 0 ? [{ typed, stems: words, by }] : [];
  });
  const numbers = unknown.filter((word) => /^\d{4,12}$/.test(word)).map(inThousands);
  const written = [...numbers, ...otherUnits(text)];
  // A phrase is only looked up beside words. `10km` counts as a phrase too, because it stands for two words.
  const words = [...meant.flatMap(({ stems }) => stems), ...written.map((stems) => stems.at(-1) as string)];
  return { words: [...new Set(words)], phrases: written, meant };
}

/** 1299 is also written 1,299: the index has `1` and `299`, one after the other. */
function inThousands(number: string): string[] {
  return number.replace(/\B(?=(\d{3})+$)/g, ' ').split(' ');
}

/** The query with the words that were probably meant, as the results write them; null if nothing was corrected. */
export function didYouMean(query: string, { meant }: NearQuery, texts: readonly string[]): string | null {
  let better = query;
  for (const { typed, stems, by } of meant) {
    if (by !== 'edits') continue;
    const words = texts.flatMap((text) => wordsOf(text));
    const word = words.find((one) => stems.includes(stemsOf(one)[0] ?? ''));
    if (word !== undefined)
      better = better.replace(new RegExp(`(?<![\\p{L}\\p{N}])${typed}(?![\\p{L}\\p{N}])`, 'iu'), word);
  }
  return better === query ? null : better;
}
