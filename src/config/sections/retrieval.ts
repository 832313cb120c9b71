import * as z from 'zod';
import { SEARCH_MODES } from '../../core/knowledge.ts';
import { count, maybe, table } from '../fields.ts';

const ALPHA = 'must be a number from 0 to 1';

export const retrieval = table({
  /** Null: hybrid if there are embeddings, otherwise keyword. */
  mode: maybe(z.enum(SEARCH_MODES, { error: 'must be "keyword", "semantic" or "hybrid"' })),
  final_limit: count({ fallback: 12, min: 1, max: 500 }),
  candidates: count({ fallback: 80, min: 1, max: 10_000 }),
  fusion: z.enum(['weighted', 'rrf'], { error: 'must be "weighted" or "rrf"' }).default('weighted'),
  rerank: z.boolean('must be true or false').default(false),
  rerank_model: maybe(z.string('must be the name of a model')),
  hybrid_alpha: z.number().min(0, ALPHA).max(1, ALPHA).default(0.6),
})
  .prefault({})
  .describe(
    'How search ranks results: the mode, the number of results, the weight of semantic (1) against keyword (0) scores, and a model that reranks the first ones.',
  );
