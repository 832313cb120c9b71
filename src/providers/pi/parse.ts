import * as z from 'zod';
import { cleanText } from '../../core/text.ts';
import { callId, keptValue, SERVER, toolName } from '../calls.ts';
import type { Said } from '../cli.ts';
import { readEvent } from '../lines.ts';
import { failed } from '../verdict.ts';

const count = z.number().nonnegative().catch(0);
const message = z.looseObject({
  role: z.string(),
  content: z.array(z.looseObject({ type: z.string(), text: z.string().optional() })).catch([]),
  stopReason: z.string().optional(),
  errorMessage: z.string().optional(),
  usage: z
    .object({
      input: count,
      output: count,
      cacheRead: count,
      cacheWrite: count,
      cost: z.object({ total: count }).catch({ total: 0 }),
    })
    .optional()
    .catch(undefined),
});
const event = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('message_update'),
    assistantMessageEvent: z.looseObject({ type: z.string(), delta: z.string().optional().catch(undefined) }),
  }),
  z.object({ type: z.literal('message_end'), message }),
  z.object({
    type: z.literal('tool_execution_start'),
    toolCallId: z.string(),
    toolName: z.string(),
    args: z.unknown().optional(),
  }),
  z.object({
    type: z.literal('tool_execution_end'),
    toolCallId: z.string(),
    result: z.unknown().optional(),
    isError: z.boolean().catch(false),
  }),
  z.object({ type: z.literal('agent_settled') }),
]);

type Event = z.infer<typeof event>;

const OURS = `${SERVER}_`;

interface Options {
  /** A message of the user is given to the model. */
  readonly onUserMessage?: (text: string) => void;
}

/** Reads the events of one turn. Only `agent_settled` is the end: `agent_end` comes before every retry, too. */
export function createParser({ onUserMessage = () => undefined }: Options = {}) {
  const ours = new Set<string>();
  let session: string | null = null;
  let text = '';
  let error: string | null = null;

  /** A session that is killed before the first answer is lost. */
  function begun(line: Event): Said[] {
    const known = session;
    if (known === null || (line.type === 'message_end' && line.message.role !== 'assistant')) return [];
    session = null;
    return [{ type: 'session', session: known }];
  }

  function ended({ role, content, stopReason, errorMessage, usage }: z.infer<typeof message>): Said[] {
    const texts = content.map((part) => (part.type === 'text' ? (part.text ?? '') : ''));
    if (role === 'user') for (const text of texts) onUserMessage(text);
    if (role !== 'assistant') return [];
    error = stopReason === 'error' || stopReason === 'aborted' ? (errorMessage ?? 'It was interrupted.') : null;
    const words = cleanText(texts.join(''));
    if (words !== '') text = words;
    return [...(words === '' ? [] : [{ type: 'text' as const, text: words }]), ...usageOf(usage)];
  }

  function said(line: Event): Said[] {
    switch (line.type) {
      case 'message_update': {
        const { type, delta } = line.assistantMessageEvent;
        return type === 'text_delta' && delta ? [{ type: 'delta', text: cleanText(delta) }] : [];
      }
      case 'message_end':
        return ended(line.message);
      case 'tool_execution_start': {
        const id = callId(line.toolCallId);
        const mark = line.toolName.startsWith(OURS) && { ours: true as const };
        if (mark) ours.add(id);
        const name = toolName(mark ? `${SERVER}:${line.toolName.slice(OURS.length)}` : line.toolName);
        return [{ type: 'tool_call', id, name, arguments: keptValue(line.args), ...mark }];
      }
      case 'tool_execution_end': {
        const id = callId(line.toolCallId);
        const mark = ours.delete(id) && { ours: true as const };
        return [{ type: 'tool_result', id, result: keptValue(line.result), isError: line.isError, ...mark }];
      }
      case 'agent_settled':
        return [error === null ? { type: 'done', text } : failed(cleanText(error))];
    }
  }

  return {
    begin(id: string): void {
      session = id;
    },
    read(line: string): Said[] {
      const read = readEvent(event, line);
      return read ? [...begun(read), ...said(read)] : [];
    },
  };
}

/** `input` is without what was read from the cache. */
function usageOf(usage: z.infer<typeof message>['usage']): Said[] {
  if (!usage || usage.input + usage.output === 0) return [];
  const inputTokens = usage.input + usage.cacheRead + usage.cacheWrite;
  const cost = usage.cost.total > 0 && { costUsd: usage.cost.total };
  return [{ type: 'usage', inputTokens, outputTokens: usage.output, ...cost }];
}
