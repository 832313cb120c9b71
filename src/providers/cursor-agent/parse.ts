import * as z from 'zod';
import { cleanText } from '../../core/text.ts';
import type { Said } from '../cli.ts';
import { readEvent } from '../lines.ts';
import { failed } from '../verdict.ts';
import { type CursorCall, type CursorReturn, readCall, readReturn } from './calls.ts';

const text = z.string().transform(cleanText);
const part = z.looseObject({ type: z.string(), text: z.string().optional() });
const count = z.number().int().nonnegative();

const event = z.discriminatedUnion('type', [
  z.object({ type: z.literal('system'), subtype: z.literal('init'), session_id: z.string() }),
  z.object({
    type: z.literal('assistant'),
    message: z.object({ content: z.array(part) }),
    timestamp_ms: z.number().optional(),
    model_call_id: z.string().optional(),
  }),
  z.object({
    type: z.literal('tool_call'),
    subtype: z.enum(['started', 'completed']),
    call_id: z.string(),
    tool_call: z.record(z.string(), z.unknown()),
  }),
  z.object({
    type: z.literal('result'),
    is_error: z.boolean(),
    result: text.default(''),
    usage: z.object({ inputTokens: count, outputTokens: count }).optional().catch(undefined),
  }),
]);

/**
 * Parses the lines of one turn of cursor-agent's `stream-json`. Lines that are not events, or carry nothing, such as
 * the echo of the prompt, are skipped. `explain` says why a call of one of our tools may have been rejected.
 */
export function createParser(explain: (tool: string, reason: string) => string) {
  return (line: string): Said[] => {
    const said = readEvent(event, line);
    switch (said?.type) {
      case 'system':
        return [{ type: 'session', session: said.session_id }];
      case 'assistant': {
        const words = cleanText(
          said.message.content.map((one) => (one.type === 'text' ? (one.text ?? '') : '')).join(''),
        );
        // A message that is complete before a tool call has both fields.
        const partial = said.timestamp_ms !== undefined && said.model_call_id === undefined;
        return [{ type: partial ? 'delta' : 'text', text: words }];
      }
      case 'tool_call': {
        const call = readCall(said.call_id, said.tool_call);
        if (call === null) return [];
        return said.subtype === 'started' ? [asCall(call)] : returned(call, readReturn(said.tool_call), explain);
      }
      case 'result': {
        const end = said.is_error
          ? failed(said.result || 'It reported an error without a message.')
          : done(said.result);
        return said.usage ? [{ type: 'usage', ...said.usage }, end] : [end];
      }
      default:
        return [];
    }
  };
}

function returned(
  call: CursorCall,
  { result, isError, rejection }: CursorReturn,
  explain: (tool: string, reason: string) => string,
): Said[] {
  const { id, ours } = call;
  // A rejected call never reached us.
  const reached = ours !== null && rejection === null;
  const told: Said[] = [
    asCall(call, reached),
    { type: 'tool_result', id, result, isError, ...(reached && { ours: true }) },
  ];
  if (ours === null || rejection === null) return told;
  const failure = { type: 'error', kind: 'invalid_request', message: explain(ours, rejection) } as const;
  return [...told, { type: 'stop', failure }];
}

function asCall({ id, name, arguments: given, ours }: CursorCall, reached = ours !== null): Said {
  return { type: 'tool_call', id, name, arguments: given, ...(reached && { ours: true }) };
}

function done(text: string): Said {
  return { type: 'done', text };
}
