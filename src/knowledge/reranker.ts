import { join } from 'node:path';
import { SubstratError } from '../core/errors.ts';
import { fromZeroToOne } from '../search/search.ts';
import type { EmbeddingPlace } from './embedding.ts';
import type { Scorer } from './local-model.ts';
import { MODEL_NAME } from './model-files.ts';

/** A cross-encoder: it reads a query and a text together, which costs far more than comparing their vectors. */
export interface Reranker {
  readonly model: string;
  /** How well each text answers the query, 0 to 1. */
  scores(query: string, texts: readonly string[]): Promise<number[]>;
}

/** The number of documents whose order may change. */
export const RERANKED = 20;
/** The model's part of a score. With more, its mistakes cost more than it finds (docs/search.md). */
const WEIGHT = 0.2;
/** The beginning of a query carries its meaning. */
const LONGEST_QUERY = 1000;

/** `[retrieval] rerank` and `rerank_model`. Returns null if reranking is off. Nothing is loaded before the first search. */
export function createReranker(
  { rerank, rerankModel }: { readonly rerank: boolean; readonly rerankModel: string | null },
  place: EmbeddingPlace,
): Reranker | null {
  if (!rerank) return null;
  if (rerankModel === null || !MODEL_NAME.test(rerankModel)) {
    const why = '[retrieval] rerank_model must be the name of a cross-encoder that `ctx model add` added.';
    throw new SubstratError('not_configured', why);
  }
  let loading: Promise<Scorer> | null = null;
  const load = async () =>
    (await import('./local-model.ts')).loadScorer({
      ...place,
      directory: join(place.models, rerankModel),
      name: rerankModel,
    });
  return {
    model: rerankModel,
    scores: async (query, texts) => {
      loading ??= load();
      const score = await loading.catch((error: unknown) => {
        loading = null;
        throw error;
      });
      return Promise.all(texts.map((text) => score(query.slice(0, LONGEST_QUERY), text)));
    },
  };
}

/**
 * Blends the model's scores into those of the first documents, and orders them anew. The others keep their order, and
 * none gets a higher score than the last of the first ones.
 */
export function blended<T extends { readonly score: number }>(
  found: readonly T[],
  scores: readonly number[],
): (T & { readonly reranked: number | null })[] {
  const first = found
    .slice(0, scores.length)
    .map((one, i) => {
      const reranked = scores[i] as number;
      return { ...one, score: (1 - WEIGHT) * fromZeroToOne(one.score) + WEIGHT * reranked, reranked };
    })
    .sort((a, b) => b.score - a.score);
  const least = first.at(-1)?.score ?? 1;
  const others = found
    .slice(scores.length)
    .map((one) => ({ ...one, score: Math.min(one.score, least), reranked: null }));
  return [...first, ...others];
}
