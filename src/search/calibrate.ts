/**
 * Scores that mean the same for every query, so that those of words and of meaning can be added, and results of
 * different queries compared.
 */

/** How much of the query's rarity a text has: 1 for a text of mean length that has every word once. */
export function coverage(bm25: number, most: number): number {
  return most > 0 ? bm25 / most : 0;
}

/** 0 for two texts that have nothing to do with each other, 1 for the same text. `unrelated` is the model's cosine of the former. */
export function closeness(cosine: number, unrelated: number): number {
  return (cosine - unrelated) / (1 - unrelated);
}

export function fromZeroToOne(score: number): number {
  return Math.min(1, Math.max(0, score));
}
