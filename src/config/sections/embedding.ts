import * as z from 'zod';
import { duration } from '../duration.ts';
import { count, maybe, type PathBase, table, text, wholeNumber } from '../fields.ts';

export const embedding = ({ resolve }: PathBase) =>
  table({
    provider: z
      .enum(['disabled', 'local', 'ollama', 'openai'], {
        error: 'must be "disabled", "local", "ollama" or "openai"',
      })
      .default('disabled'),
    model: maybe(text),
    url: maybe(
      text.refine((url) => /^https?:\/\//.test(url) && URL.canParse(url), 'must be a URL, http:// or https://'),
    ),
    api_key: maybe(text).meta({ secret: true }),
    dimension: maybe(wholeNumber(1, 16_384)),
    batch: count({ fallback: 32, min: 1, max: 2_048 }),
    retries: count({ fallback: 3, min: 0, max: 20 }),
    timeout: duration({ fallback: '60s', min: '1s', max: '1h' }),
    path: maybe(text.transform(resolve)),
  })
    .prefault({})
    .transform(({ timeout, ...rest }) => ({ ...rest, timeoutMs: timeout }))
    .describe('The embedding model for semantic search. Without a provider, only keyword search is available.');
