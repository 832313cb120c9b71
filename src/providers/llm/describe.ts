import type { Description, Fields } from '../description.ts';

/** What holds without a table. */
export const llmDefaults = {
  model: null,
  baseUrl: null,
  apiKey: null,
  endpoints: {},
  maxTurns: 100,
  maxRetries: 3,
  maxOutputTokens: 8_192,
  contextTokens: 120_000,
  idleTimeout: 300,
  workspaceTools: true,
  images: true,
} as const;

export const llm = {
  name: 'llm',
  sessionPaths: [],
  settings: ({ z }: Fields) => {
    const url = z.url({ protocol: /^https?$/, error: 'must be an http or https URL' });
    const key = z.string().min(1).nullable().default(null).meta({ secret: true });
    const number = (fallback: number, min: number, max: number) => z.int().min(min).max(max).default(fallback);
    return {
      /** `ENDPOINT/MODEL`, for agents without a model of their own. */
      model: z.string().min(1).nullable().default(null),
      /** Of the endpoint that `model` names. */
      base_url: url.nullable().default(null),
      api_key: key,
      endpoints: z
        .record(
          z.string().regex(/^[a-z0-9][a-z0-9_-]*$/, 'must be lower-case letters, digits, "-" or "_"'),
          z.strictObject({
            base_url: url.nullable().default(null),
            api_key: key,
            dialect: z.enum(['anthropic', 'responses', 'chat']).nullable().default(null),
          }),
        )
        .default({}),
      /** Model calls in a turn. */
      max_turns: number(llmDefaults.maxTurns, 1, 10_000),
      /** Times that a call is repeated within a turn. */
      max_retries: number(llmDefaults.maxRetries, 0, 20),
      max_output_tokens: number(llmDefaults.maxOutputTokens, 64, 1_000_000),
      /** The size of the model's context. A conversation is summarized when it has filled most of it. */
      context_tokens: number(llmDefaults.contextTokens, 2_000, 10_000_000),
      /** How long a model may be silent in the middle of a call, in seconds. */
      idle_timeout: number(llmDefaults.idleTimeout, 1, 3_600),
      workspace_tools: z.boolean().default(llmDefaults.workspaceTools),
      /** The model understands images. */
      images: z.boolean().default(llmDefaults.images),
    };
  },
} as const satisfies Description;
