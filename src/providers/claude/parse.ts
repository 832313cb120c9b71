import * as z from 'zod';
import { cleanText } from '../../core/text.ts';
import { callId, keptValue, SERVER, toolName } from '../calls.ts';
import type { Said } from '../cli.ts';
import { readEvent } from '../lines.ts';
import { failed } from '../verdict.ts';
import { createLimits } from './limits.ts';

const count = z.number().int().nonnegative().catch(0);
const block = z.looseObject({ type: z.string() });

const message = z.object({
  content: z.array(block).catch([]),
  usage: z.object({ input_tokens: count, output_tokens: count }).optional().catch(undefined),
});
const common = { session_id: z.string().optional(), parent_tool_use_id: z.string().nullish() };

const usageOfModel = z.object({
  inputTokens: count,
  outputTokens: count,
  cacheReadInputTokens: count,
  cacheCreationInputTokens: count,
  costUSD: z.number().nonnegative().optional().catch(undefined),
});
const usage = z.object({
  input_tokens: count,
  output_tokens: count,
  cache_read_input_tokens: count,
  cache_creation_input_tokens: count,
});

const event = z.discriminatedUnion('type', [
  z.object({
    ...common,
    type: z.literal('system'),
    subtype: z.string(),
    error_status: z.number().nullish(),
    retry_delay_ms: z.number().optional(),
  }),
  z.object({
    ...common,
    type: z.literal('stream_event'),
    event: z.looseObject({ delta: z.object({ type: z.string(), text: z.string() }).optional().catch(undefined) }),
  }),
  z.object({ ...common, type: z.literal('assistant'), message, is_api_error_message: z.boolean().optional() }),
  z.object({ ...common, type: z.literal('user'), message, isReplay: z.boolean().optional() }),
  z.object({
    ...common,
    type: z.literal('rate_limit_event'),
    rate_limit_info: z.object({ status: z.string(), resetsAt: z.number().optional() }),
  }),
  z.object({
    ...common,
    type: z.literal('result'),
    is_error: z.boolean(),
    result: z.string().optional(),
    errors: z.array(z.string()).optional().catch(undefined),
    error: z.object({ message: z.string() }).optional().catch(undefined),
    terminal_reason: z.string().nullish(),
    api_error_status: z.number().nullish(),
    usage: usage.optional().catch(undefined),
    model_usage_since_last_result: z.record(z.string(), usageOfModel).optional().catch(undefined),
  }),
]);

type Event = z.infer<typeof event>;
type Result = Extract<Event, { type: 'result' }>;

const text = z.object({ text: z.string().transform(cleanText) });
const use = z.object({ id: z.string(), name: z.string(), input: z.unknown().optional() });
const returned = z.object({
  tool_use_id: z.string(),
  content: z.unknown().optional(),
  is_error: z.boolean().optional(),
});

interface Options {
  readonly usagePerMessage?: boolean;
  /** A message of the user is given to the model. */
  readonly onReplay?: (text: string) => void;
}

const ignore = () => undefined;
const OURS = `mcp__${SERVER}__`;

/**
 * Parses the lines of one turn of `stream-json`, which qwen speaks, too. `resumed` is the session to resume. The
 * first event names a session that does not exist yet: it is reported with the next event, when it can be resumed.
 */
export function createParser(resumed: string | null, { usagePerMessage = false, onReplay = ignore }: Options = {}) {
  const limits = createLimits();
  /** Calls of our tools that were not refused before they reached us. */
  const ours = new Set<string>();
  let isReported = resumed !== null;

  function begun({ session_id: session, type }: Event): Said[] {
    if (session === undefined || (type === 'system' && !isReported)) return [];
    isReported = true;
    return [{ type: 'session', session }];
  }

  function said(line: Event): Said[] {
    switch (line.type) {
      case 'system':
        return line.subtype === 'api_retry' ? limits.retries(line.error_status ?? null, line.retry_delay_ms ?? 0) : [];
      case 'rate_limit_event':
        limits.reports(line.rate_limit_info);
        return [];
      case 'stream_event': {
        const { delta } = line.event;
        // A subagent's words are not the agent's.
        if (delta?.type !== 'text_delta' || line.parent_tool_use_id) return [];
        return [{ type: 'delta', text: cleanText(delta.text) }];
      }
      case 'assistant':
        // An error of the model as a text; the result has it, too.
        if (line.is_api_error_message) return [];
        return [
          ...line.message.content.flatMap((part) => spoken(part, Boolean(line.parent_tool_use_id))),
          ...(usagePerMessage ? usageOfMessage(line.message) : []),
        ];
      case 'user':
        if (line.isReplay) for (const part of line.message.content) onReplay(text.safeParse(part).data?.text ?? '');
        return line.message.content.flatMap(result);
      case 'result':
        return [...(usagePerMessage ? [] : usageOf(line)), finalOf(line)];
    }
  }

  function spoken(part: z.infer<typeof block>, isSubagent: boolean): Said[] {
    if (part.type === 'text') {
      const words = text.safeParse(part).data?.text ?? '';
      // An error of the model as a text of qwen; the result has it, too.
      return isSubagent || words.startsWith('[API Error: ') ? [] : [{ type: 'text', text: words }];
    }
    const { data } = part.type === 'tool_use' ? use.safeParse(part) : { data: undefined };
    if (!data) return [];
    const id = callId(data.id);
    const isOurs = data.name.startsWith(OURS);
    if (isOurs) ours.add(id);
    const name = toolName(isOurs ? `${SERVER}:${data.name.slice(OURS.length)}` : data.name);
    return [{ type: 'tool_call', id, name, arguments: keptValue(data.input), ...(isOurs && { ours: true as const }) }];
  }

  function result(part: z.infer<typeof block>): Said[] {
    const { data } = part.type === 'tool_result' ? returned.safeParse(part) : { data: undefined };
    if (!data) return [];
    const id = callId(data.tool_use_id);
    const isOurs = ours.delete(id);
    const value = keptValue(data.content);
    return [
      {
        type: 'tool_result',
        id,
        result: value,
        isError: data.is_error ?? false,
        ...(isOurs && { ours: true as const }),
      },
    ];
  }

  function finalOf({ is_error, result = '', errors, error, terminal_reason, api_error_status }: Result): Said {
    if (!is_error) return { type: 'done', text: cleanText(result) };
    const message = cleanText(
      result || error?.message || errors?.join('\n') || 'It reported an error without a message.',
    );
    if (terminal_reason === 'prompt_too_long') return { type: 'error', kind: 'context_full', message };
    return failed(message, { status: api_error_status, retryAfterMs: limits.waitMs() });
  }

  return (line: string): Said[] => {
    const read = readEvent(event, line);
    return read ? [...begun(read), ...said(read)] : [];
  };
}

/** For qwen, whose result counts the whole session. */
function usageOfMessage({ usage }: z.infer<typeof message>): Said[] {
  if (!usage || usage.input_tokens + usage.output_tokens === 0) return [];
  return [{ type: 'usage', inputTokens: usage.input_tokens, outputTokens: usage.output_tokens }];
}

/** Of this turn: `modelUsage` and `total_cost_usd` are those of the whole session. */
function usageOf({ model_usage_since_last_result: byModel, usage }: Result): Said[] {
  const models = Object.entries(byModel ?? {});
  if (models.length > 0)
    return models.map(([model, used]) => ({
      type: 'usage',
      inputTokens: used.inputTokens + used.cacheReadInputTokens + used.cacheCreationInputTokens,
      outputTokens: used.outputTokens,
      model,
      ...(used.costUSD !== undefined && { costUsd: used.costUSD }),
    }));
  if (!usage || usage.input_tokens + usage.output_tokens === 0) return [];
  const inputTokens = usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens;
  return [{ type: 'usage', inputTokens, outputTokens: usage.output_tokens }];
}
