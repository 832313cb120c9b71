/** A chunk found by one kind of search. */
export interface Hit {
  readonly key: number;
  readonly score: number;
}

/** The result for a chunk: its score from 0 to 1 and the parts it is made of. */
export interface Merged {
  readonly key: number;
  readonly score: number;
  readonly keyword: Part | null;
  readonly semantic: Part | null;
}

export interface Part {
  readonly rank: number;
  readonly score: number;
  /** The score from that search. */
  readonly raw: number;
}

export interface Fusion {
  /** `weighted`: ratios to the best score; `rrf`: reciprocal ranks. */
  readonly fusion: 'weighted' | 'rrf';
  /** The weight of semantic (1) against keyword search (0). */
  readonly alpha: number;
}

/** The damping constant of RRF: with it, rank 1 counts little more than rank 2. */
const RRF_K = 60;

/** Merges both lists, best first. Lists are complete: a chunk missing from one has score 0 there. */
export function merge(keyword: readonly Hit[], semantic: readonly Hit[], { fusion, alpha }: Fusion): Merged[] {
  const part = fusion === 'rrf' ? ranked : weighed;
  const [byWords, byMeaning] = [part(keyword), part(semantic)];
  const keys = new Set([...byWords.keys(), ...byMeaning.keys()]);
  return [...keys]
    .map((key) => {
      const [words, meaning] = [byWords.get(key) ?? null, byMeaning.get(key) ?? null];
      const score = (1 - alpha) * (words?.score ?? 0) + alpha * (meaning?.score ?? 0);
      return { key, score, keyword: words, semantic: meaning };
    })
    .sort((a, b) => b.score - a.score || a.key - b.key);
}

/** Ratios to the best score. */
function weighed(hits: readonly Hit[]): Map<number, Part> {
  const best = hits[0]?.score ?? 0;
  const share = (score: number) => (best > 0 ? Math.max(0, score / best) : 0);
  return new Map(hits.map(({ key, score }, i) => [key, { rank: i + 1, score: share(score), raw: score }]));
}

function ranked(hits: readonly Hit[]): Map<number, Part> {
  const share = (i: number) => (RRF_K + 1) / (RRF_K + 1 + i);
  return new Map(hits.map(({ key, score }, i) => [key, { rank: i + 1, score: share(i), raw: score }]));
}
