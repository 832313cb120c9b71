import * as z from 'zod';
import { cleanText } from '../core/text.ts';
import { type CursorCall, type CursorReturn, readCall, readReturn } from './cursor-calls.ts';
import { readEvent } from './lines.ts';

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

export type CursorEvent =
  | { readonly type: 'init'; readonly session: string }
  /** A piece of a message that is being written. */
  | { readonly type: 'delta'; readonly text: string }
  | { readonly type: 'message'; readonly text: string }
  | ({ readonly type: 'call' } & CursorCall)
  | ({ readonly type: 'return' } & CursorCall & CursorReturn)
  | {
      readonly type: 'result';
      readonly isError: boolean;
      readonly text: string;
      readonly usage?: { readonly inputTokens: number; readonly outputTokens: number } | undefined;
    };

/** A line of cursor-agent's `stream-json`; null for what is none or tells us nothing, such as the echo of the prompt. */
export function parseCursorEvent(line: string): CursorEvent | null {
  const said = readEvent(event, line);
  switch (said?.type) {
    case 'system':
      return { type: 'init', session: said.session_id };
    case 'assistant': {
      const words = cleanText(
        said.message.content.map((one) => (one.type === 'text' ? (one.text ?? '') : '')).join(''),
      );
      // A message that is complete before a tool is called has both marks.
      const partial = said.timestamp_ms !== undefined && said.model_call_id === undefined;
      return { type: partial ? 'delta' : 'message', text: words };
    }
    case 'tool_call': {
      const call = readCall(said.call_id, said.tool_call);
      if (call === null) return null;
      if (said.subtype === 'started') return { type: 'call', ...call };
      return { type: 'return', ...call, ...readReturn(said.tool_call) };
    }
    case 'result':
      return { type: 'result', isError: said.is_error, text: said.result, usage: said.usage };
    default:
      return null;
  }
}
