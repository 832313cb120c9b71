import { coverage } from '../search/search.ts';
import { type Fusion, type Hit, type Merged, merge } from './merge.ts';
import { dot, ofLengthOne } from './vector.ts';
import type { VectorCache } from './vector-cache.ts';

/** Relevance feedback: the mean of this many first results is added to the query vector. */
const FEEDBACK = 5;
/**
 * Only where a result has this much of the query's words: then the first results are probably about its subject. Where
 * words match little, feedback made results worse on every development set.
 */
const LEAST_COVERAGE = 0.7;

export interface Hybrid {
  /** Deeper than `width`, so that semantic candidates get their keyword score too. */
  readonly words: readonly Hit[];
  readonly vector: Float32Array;
  readonly cache: Pick<VectorCache, 'vectorsOf'>;
  readonly nearest: (vector: Float32Array) => Promise<Hit[]>;
  /** The number of chunks of each kind that are merged. */
  readonly width: number;
  readonly how: Fusion;
}

/** Merges words and meaning; with feedback, once more with the query's vector moved towards the first results. */
export async function hybrid(given: Hybrid): Promise<{ merged: Merged[]; feedback: boolean }> {
  const { words, vector, cache, how } = given;
  const first = await pass(given, vector);
  const covered = coverage(words[0]?.score ?? 0, how.most);
  const best = first[0]?.score ?? 0;
  if (covered < LEAST_COVERAGE || best <= 0) return { merged: first, feedback: false };
  const vectors = await cache.vectorsOf(first.slice(0, FEEDBACK).map(({ key }) => key));
  const moved = await pass(given, ofLengthOne(movedTowards(vector, [...vectors.values()])));
  // A moved vector is near to its own results, so the level of scores is that of the query itself.
  const level = best / (moved[0]?.score || best);
  const cosines = new Map(first.map(({ key, semantic }) => [key, semantic]));
  const merged = moved.map((hit) => ({
    ...hit,
    score: hit.score * level,
    semantic: cosines.get(hit.key) ?? hit.semantic,
  }));
  return { merged, feedback: true };
}

async function pass({ words, cache, nearest, width, how }: Hybrid, vector: Float32Array): Promise<Merged[]> {
  const near = await nearest(vector);
  const nearKeys = new Set(near.map(({ key }) => key));
  const others = words.slice(0, width).filter(({ key }) => !nearKeys.has(key));
  const vectors = await cache.vectorsOf(others.map(({ key }) => key));
  const further = others.flatMap(({ key }) => {
    const of = vectors.get(key);
    return of ? [{ key, score: dot(vector, of) }] : [];
  });
  const semantic = [...near, ...further.sort((a, b) => b.score - a.score)];
  const candidates = new Set([...nearKeys, ...words.slice(0, width).map(({ key }) => key)]);
  return merge(words, semantic, how).filter(({ key }) => candidates.has(key));
}

function movedTowards(vector: Float32Array, others: readonly Float32Array[]): Float32Array {
  if (others.length === 0) return vector;
  return vector.map((value, i) => value + others.reduce((sum, of) => sum + (of[i] as number), 0) / others.length);
}
