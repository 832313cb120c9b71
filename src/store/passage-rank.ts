import type { PassageTerms } from './views.ts';

/** Which passages have a term, and how often. */
export type TermHits = ReadonlyMap<number, number>;

export interface PassageStats {
  readonly passages: number;
  readonly length: number;
}

/** What the index knows of a query's terms. */
export interface PassageHits {
  /** By word, in the passage's own text. */
  readonly own: ReadonlyMap<string, TermHits>;
  /** By word, around the passage. */
  readonly near: ReadonlyMap<string, TermHits>;
  /** One for each phrase. */
  readonly phrases: readonly TermHits[];
}

const K1 = 1.2;
const B = 0.75;
/** A phrase counts as this many words of its own rarity, as in chunks. */
const PHRASE_WEIGHT = 3;
/**
 * A word beside a passage counts this much of the same word in it. Lengths beyond `LONGEST` times the mean count no
 * further, so that a word in the longest passage still counts twice as much as the same word beside one.
 */
const NEAR_WEIGHT = 0.25;
const LONGEST = 3;

/**
 * BM25 with the number and the mean length of the agent's own passages: what other agents store does not change a
 * score. `scoreOf` returns the score of a passage by its number and length.
 */
export function passageRanking(
  { words }: PassageTerms,
  hits: PassageHits,
  stats: PassageStats,
): { readonly scoreOf: (seq: number, length: number) => number; readonly most: number } {
  const mean = Math.max(1, stats.length / Math.max(1, stats.passages));
  const rarity = (n: number) => Math.log(1 + (Math.max(stats.passages, n) - n + 0.5) / (n + 0.5));
  const weights = words.map((word) => rarity(hits.own.get(word)?.size || hits.near.get(word)?.size || 0));
  const ofPhrases = hits.phrases.map((having) => PHRASE_WEIGHT * rarity(having.size));
  const most = [...weights, ...ofPhrases].reduce((sum, weight) => sum + weight, 0);
  const scoreOf = (seq: number, length: number) => {
    const ratio = Math.min(LONGEST, length / mean);
    const gain = (n: number) => (n * (K1 + 1)) / (n + K1 * (1 - B + B * ratio));
    let score = 0;
    for (const [i, word] of words.entries()) {
      const n = hits.own.get(word)?.get(seq);
      if (n !== undefined) score += (weights[i] as number) * gain(n);
      else if (hits.near.get(word)?.has(seq)) score += (weights[i] as number) * NEAR_WEIGHT;
    }
    for (const [i, having] of hits.phrases.entries()) if (having.has(seq)) score += (ofPhrases[i] as number) * gain(1);
    return score;
  };
  return { scoreOf, most };
}
