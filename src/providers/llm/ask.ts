import { setTimeout as sleep } from 'node:timers/promises';
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
  SharedV4ProviderMetadata,
} from '@ai-sdk/provider';
import { newId } from '../../core/id.ts';
import { parseBounded } from '../../core/json-bounds.ts';
import { shorten } from '../../core/text.ts';
import { toolName } from '../calls.ts';
import type { ProviderEvent } from '../provider.ts';
import type { Part } from './content.ts';
import { EndlessAnswer, failureOf } from './failure.ts';

/** What a model answered. */
export interface Answer {
  readonly parts: readonly Part[];
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** It was cut at `max_output_tokens`. */
  readonly isCut: boolean;
}

export interface Patience {
  readonly maxRetries: number;
  readonly idleMs: number;
}

/** A longer wait is for the scheduler: it frees the slot and tells the person. */
const LONGEST_WAIT_MS = 20_000;
const FIRST_WAIT_MS = 500;

type CallOptions = Omit<LanguageModelV4CallOptions, 'abortSignal'>;
export type Delta = Extract<ProviderEvent, { type: 'delta' }>;

/** Of one answer. */
const MOST_CALLS = 200;

/** The key of arguments that are not a JSON object: their call is answered with an error. */
export const INVALID = 'invalid_json';

/** One model call, repeated while its failure passes. Nothing is executed before it has succeeded. */
export async function* ask(
  model: LanguageModelV4,
  options: CallOptions,
  { maxRetries, idleMs }: Patience,
  signal: AbortSignal,
): AsyncGenerator<Delta, Answer> {
  for (let tries = 0; ; tries += 1) {
    try {
      return yield* read(model, options, idleMs, signal);
    } catch (error) {
      signal.throwIfAborted();
      const failure = failureOf(error);
      const wait = failure.failed.retryAfterMs ?? FIRST_WAIT_MS * 2 ** tries;
      if (!failure.passes || tries >= maxRetries || wait > LONGEST_WAIT_MS) throw failure;
      await sleep(wait, undefined, { signal });
    }
  }
}

async function* read(
  model: LanguageModelV4,
  options: CallOptions,
  idleMs: number,
  signal: AbortSignal,
): AsyncGenerator<Delta, Answer> {
  const idle = new AbortController();
  const silent = () => idle.abort(new Error(`the connection timed out: the model was silent for ${idleMs / 1_000} s`));
  let timer = setTimeout(silent, idleMs);
  const reader = createReader();
  try {
    const { stream } = await model.doStream({ ...options, abortSignal: AbortSignal.any([signal, idle.signal]) });
    for await (const part of stream) {
      clearTimeout(timer);
      timer = setTimeout(silent, idleMs);
      if (part.type === 'error') throw part.error;
      const delta = reader.take(part);
      if (delta) yield { type: 'delta', text: delta };
    }
  } catch (error) {
    throw idle.signal.aborted ? idle.signal.reason : error;
  } finally {
    clearTimeout(timer);
  }
  const answer = reader.answer();
  if (!answer) throw new Error('the connection was closed before the answer was complete');
  return answer;
}

/** Puts the pieces of a stream together, in the order in which they began. */
function createReader() {
  const parts: Part[] = [];
  const open = new Map<string, Part & { text: string }>();
  let calls = 0;
  let end: Omit<Answer, 'parts'> | null = null;
  const begin = (key: string, part: Part & { text: string }) => {
    open.set(key, part);
    parts.push(part);
  };

  function take(part: LanguageModelV4StreamPart): string | null {
    switch (part.type) {
      case 'text-start':
      case 'reasoning-start': {
        const type = part.type === 'text-start' ? 'text' : 'reasoning';
        begin(`${type} ${part.id}`, { type, text: '', ...metaOf(part) });
        return null;
      }
      case 'text-delta':
      case 'reasoning-delta':
      case 'text-end':
      case 'reasoning-end': {
        const key = `${part.type.startsWith('text') ? 'text' : 'reasoning'} ${part.id}`;
        const piece = open.get(key);
        if (!piece) return null;
        if ('delta' in part) piece.text += part.delta;
        if (part.providerMetadata) piece.meta = { ...piece.meta, ...part.providerMetadata };
        return part.type === 'text-delta' ? part.delta : null;
      }
      case 'tool-call':
        calls += 1;
        if (calls > MOST_CALLS) throw new EndlessAnswer(`it called more than ${MOST_CALLS} tools in one answer`);
        // Ids of models are not unique: some count from 0 in every answer.
        parts.push({
          type: 'call',
          id: `call_${newId().replaceAll('-', '')}`,
          name: toolName(part.toolName),
          arguments: parse(part.input),
          ...metaOf(part),
        });
        return null;
      case 'finish': {
        const { inputTokens, outputTokens } = part.usage;
        const isCut = part.finishReason.unified === 'length';
        end = { inputTokens: countOf(inputTokens.total), outputTokens: countOf(outputTokens.total), isCut };
        return null;
      }
      default:
        return null;
    }
  }

  return { take, answer: (): Answer | null => end && { parts, ...end } };
}

function metaOf({ providerMetadata }: { providerMetadata?: SharedV4ProviderMetadata | undefined }) {
  return providerMetadata ? { meta: providerMetadata } : {};
}

function parse(input: string): unknown {
  if (input.trim() === '') return {};
  try {
    const value = parseBounded(input);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch {
    // The model is told below.
  }
  return { [INVALID]: shorten(input, 2_000) };
}

function countOf(count: number | undefined): number {
  return Number.isSafeInteger(count) && count !== undefined && count >= 0 ? count : 0;
}
