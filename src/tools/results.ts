import * as z from 'zod';

const Part = { rank: z.int(), score: z.number() };

const Result = z.strictObject({
  id: z.string().describe('Id of the document.'),
  score: z.number().min(0).max(1),
  title: z.string().nullable(),
  source: z.string().describe('TYPE:NAME, such as git:platform.'),
  source_id: z.string(),
  updated_at: z.string(),
  snippet: z.string(),
  source_url: z.string().nullable(),
  explain: z
    .strictObject({
      mode: z.string(),
      matched: z.array(z.string()).describe('The words of the snippet that match the query, as written there.'),
      alpha: z.number().nullable(),
      feedback: z.boolean(),
      rerank: z.number().nullable(),
      chunk: z.strictObject({
        index: z.int(),
        headings: z.array(z.string()),
        from: z.int().nullable(),
        to: z.int().nullable(),
      }),
      keyword: z.strictObject({ ...Part, bm25: z.number() }).nullable(),
      semantic: z.strictObject({ ...Part, cosine: z.number() }).nullable(),
    })
    .optional(),
});

/** What `search` returns. */
export const searchOutput = z.strictObject({
  results: z.array(Result),
  did_you_mean: z.string().optional().describe('The query with the words that were probably meant.'),
  rerank: z
    .strictObject({ model: z.string(), documents: z.int(), ms: z.number() })
    .optional()
    .describe('If a model reranked the first results: its name, how many documents it read, and how long it took.'),
  warning: z.string().optional().describe('Why the answer is not what was asked for.'),
});

/** What `get` returns. */
export const getOutput = z.strictObject({
  ...{ id: z.string(), source: z.string(), source_id: z.string(), source_url: z.string().nullable() },
  ...{ title: z.string().nullable(), author: z.string().nullable(), created_at: z.string(), updated_at: z.string() },
  ...{ content_type: z.string(), body: z.string(), metadata: z.record(z.string(), z.unknown()) },
  chunks: z.array(z.strictObject({ index: z.int(), text: z.string() })),
});

/** What `sources` returns. */
export const sourcesOutput = z.strictObject({
  sources: z.array(
    z.strictObject({ name: z.string(), configured: z.boolean(), healthy: z.boolean(), notes: z.string().nullable() }),
  ),
});

/** What a script tool returns. */
export const customOutput = z.object({ result: z.unknown().describe('Whatever the tool returned.') });
