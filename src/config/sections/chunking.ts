import { count, table } from '../fields.ts';

export const chunking = table({
  max_tokens: count({ fallback: 700, min: 50, max: 8_000 }),
  overlap_tokens: count({ fallback: 80, min: 0, max: 4_000 }),
})
  .prefault({})
  .refine(({ maxTokens, overlapTokens }) => overlapTokens * 2 <= maxTokens, {
    path: ['overlap_tokens'],
    error: 'must be at most half of "max_tokens"',
  })
  .describe(
    'How documents are split: the approximate number of tokens in a chunk, and the overlap with the previous chunk.',
  );
