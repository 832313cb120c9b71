import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import { SubstratError } from '../core/errors.ts';
import { JSON_LIMITS, type JsonLimits, parseBounded } from '../core/json-bounds.ts';
import { readBytes } from '../core/response.ts';
import { shorten } from '../core/text.ts';
import type { EmbeddingSettings } from './embedding-settings.ts';
import { ofLengthOne } from './vector.ts';

type Settings = EmbeddingSettings & { readonly provider: 'ollama' | 'openai'; readonly model: string };

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 30_000;
/** Larger than the dimension of any model. */
const MOST_DIMENSIONS = 16_384;
const vectors = z.array(z.array(z.number()).min(1));
const answers = {
  ollama: z.object({ embeddings: vectors }).transform(({ embeddings }) => embeddings),
  openai: z
    .object({ data: z.array(z.object({ index: z.number(), embedding: z.array(z.number()).min(1) })) })
    .transform(({ data }) => data.toSorted((a, b) => a.index - b.index).map(({ embedding }) => embedding)),
};

/** Requests vectors from Ollama or an OpenAI-compatible server, in batches. Transient errors are retried. */
export async function embedRemotely(settings: Settings, texts: readonly string[]): Promise<Float32Array[]> {
  const found: Float32Array[] = [];
  for (let from = 0; from < texts.length; from += settings.batch) {
    found.push(...(await embedBatch(settings, texts.slice(from, from + settings.batch))));
  }
  return found;
}

async function embedBatch(settings: Settings, texts: readonly string[]): Promise<Float32Array[]> {
  for (let attempt = 0; ; attempt += 1) {
    const answer = await ask(settings, texts);
    if ('vectors' in answer) return answer.vectors;
    if (!answer.passing || attempt >= settings.retries) throw fault(settings, answer.why);
    await sleep(Math.min(answer.waitMs ?? FIRST_WAIT_MS * 2 ** attempt, LONGEST_WAIT_MS));
  }
}

type Answer =
  | { readonly vectors: Float32Array[] }
  | { readonly why: string; readonly passing: boolean; readonly waitMs?: number | undefined };

async function ask(settings: Settings, texts: readonly string[]): Promise<Answer> {
  const { provider, apiKey, dimension, timeoutMs, model } = settings;
  let response: Response;
  let body: Buffer;
  try {
    response = await fetch(endpointOf(settings), {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }),
      },
      body: JSON.stringify({
        model,
        // Some servers refuse an empty text.
        input: texts.map((text) => text.trim() || ' . '),
        ...(dimension === null ? {} : { dimensions: dimension }),
        ...(provider === 'openai' ? { encoding_format: 'float' } : {}),
      }),
      signal: AbortSignal.timeout(timeoutMs),
    });
    body = await readBytes(response, limitsOf(texts.length).bytes);
  } catch (error) {
    const { message, cause } = error as Error;
    return { why: cause instanceof Error ? cause.message : message, passing: true };
  }
  if (!response.ok) {
    const passing = response.status === 429 || response.status === 408 || response.status >= 500;
    const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
    return {
      why: `status ${response.status}: ${excerpt(body)}`,
      passing,
      waitMs: Number.isFinite(seconds) ? seconds * 1000 : undefined,
    };
  }
  return read(provider, body, texts.length);
}

function read(provider: Settings['provider'], body: Buffer, count: number): Answer {
  try {
    const found = answers[provider].parse(parseBounded(body, limitsOf(count)));
    if (found.length !== count) return { why: `${found.length} vectors for ${count} texts`, passing: false };
    return { vectors: found.map((vector) => ofLengthOne(Float32Array.from(vector))) };
  } catch {
    return { why: `a response that cannot be parsed: ${excerpt(body)}`, passing: false };
  }
}

/** A number of a vector takes about 20 bytes. */
function limitsOf(count: number): JsonLimits {
  const entries = count * (MOST_DIMENSIONS + 10) + 100;
  return { ...JSON_LIMITS, bytes: Math.max(JSON_LIMITS.bytes, entries * 25), entries };
}

function excerpt(body: Buffer): string {
  return body.toString('utf8', 0, 2000);
}

function endpointOf({ provider, url }: Settings): string {
  const base = (url ?? (provider === 'ollama' ? 'http://127.0.0.1:11434' : 'https://api.openai.com/v1')).replace(
    /\/+$/,
    '',
  );
  return provider === 'ollama' ? `${base}/api/embed` : `${base}/embeddings`;
}

/** Never contains the key, which some responses repeat. */
function fault(settings: Settings, why: string): SubstratError {
  const { apiKey } = settings;
  const said = shorten((apiKey ? why.replaceAll(apiKey, '…') : why).replaceAll(/\s+/g, ' '), 300);
  return new SubstratError(
    'tool_error',
    `${endpointOf(settings)} did not return embeddings of ${settings.model}: ${said}`,
  );
}
