import { closeness, coverage } from '../search/search.ts';

/** A chunk found by one kind of search, with that search's own score: BM25, or the cosine. */
export interface Hit {
  readonly key: number;
  readonly score: number;
}

/** The result for a chunk: its score and the parts it is made of. */
export interface Merged {
  readonly key: number;
  readonly score: number;
  readonly keyword: Part | null;
  readonly semantic: Part | null;
}

export interface Part {
  readonly rank: number;
  /** What counts in the merged score. */
  readonly score: number;
  /** The score from that search. */
  readonly raw: number;
}

export interface Fusion {
  /** `weighted`: calibrated scores; `rrf`: reciprocal ranks. */
  readonly fusion: 'weighted' | 'rrf';
  /** The weight of semantic (1) against keyword search (0). */
  readonly alpha: number;
  /** The BM25 of a chunk with all words of the query. */
  readonly most: number;
  /** The cosine of two texts that have nothing to do with each other. */
  readonly unrelated: number;
}

/** The damping constant of RRF: with it, rank 1 counts little more than rank 2. */
const RRF_K = 60;

/** Merges both lists, best first. Lists are complete: a chunk missing from one has score 0 there. */
export function merge(keyword: readonly Hit[], semantic: readonly Hit[], how: Fusion): Merged[] {
  const { fusion, alpha, most, unrelated } = how;
  const reciprocal = (_: number, i: number) => (RRF_K + 1) / (RRF_K + 1 + i);
  const byWords = parts(keyword, fusion === 'rrf' ? reciprocal : (bm25) => coverage(bm25, most));
  const byMeaning = parts(semantic, fusion === 'rrf' ? reciprocal : (cosine) => closeness(cosine, unrelated));
  const keys = new Set([...byWords.keys(), ...byMeaning.keys()]);
  return [...keys]
    .map((key) => {
      const [words, meaning] = [byWords.get(key) ?? null, byMeaning.get(key) ?? null];
      const score = (1 - alpha) * (words?.score ?? 0) + alpha * (meaning?.score ?? 0);
      return { key, score, keyword: words, semantic: meaning };
    })
    .sort((a, b) => b.score - a.score || a.key - b.key);
}

function parts(hits: readonly Hit[], scoreOf: (raw: number, i: number) => number): Map<number, Part> {
  return new Map(hits.map(({ key, score }, i) => [key, { rank: i + 1, score: scoreOf(score, i), raw: score }]));
}
