import * as z from 'zod';
import { cleanText } from '../../core/text.ts';
import { callId, keptValue, SERVER, toolName } from '../calls.ts';
import type { Said } from '../cli.ts';
import { readEvent } from '../lines.ts';
import { failed } from '../verdict.ts';

const count = z.number().int().nonnegative().catch(0);
const event = z.discriminatedUnion('type', [
  z.object({ type: z.literal('init'), session_id: z.string() }),
  z.object({ type: z.literal('message'), role: z.string(), content: z.string(), delta: z.boolean().optional() }),
  z.object({
    type: z.literal('tool_use'),
    tool_name: z.string(),
    tool_id: z.string(),
    parameters: z.unknown().optional(),
  }),
  z.object({
    type: z.literal('tool_result'),
    tool_id: z.string(),
    status: z.string(),
    output: z.unknown().optional(),
    error: z.unknown().optional(),
  }),
  z.object({
    type: z.literal('result'),
    status: z.string(),
    error: z.object({ message: z.string() }).optional(),
    stats: z
      .looseObject({ models: z.record(z.string(), z.object({ input_tokens: count, output_tokens: count })) })
      .optional(),
  }),
]);

type Event = z.infer<typeof event>;

const OURS = `mcp_${SERVER}_`;
const FAILED_COMMAND = /Command exited with code: (?!0\b)\d+/;

/** Parses the lines of one turn of `stream-json`. A text only comes in pieces, and ends with the next other event. */
export function createParser(resumed: string | null) {
  const ours = new Set<string>();
  let session: string | null = null;
  let text = '';
  let last = '';

  /** A new session is reported with the first answer of the model: before that it cannot be resumed. */
  function begun(line: Event): Said[] {
    if (line.type === 'init') {
      session = line.session_id;
      return resumed === null ? [] : [{ type: 'session', session }];
    }
    const known = session;
    if (known === null || line.type === 'result' || (line.type === 'message' && line.role === 'user')) return [];
    session = null;
    return [{ type: 'session', session: known }];
  }

  function whole(): Said[] {
    if (text === '') return [];
    last = text;
    text = '';
    return [{ type: 'text', text: last }];
  }

  function said(line: Event): Said[] {
    switch (line.type) {
      case 'init':
        return [];
      case 'message': {
        if (line.role !== 'assistant') return [];
        const words = cleanText(line.content);
        text += words;
        return line.delta ? [{ type: 'delta', text: words }] : whole();
      }
      case 'tool_use': {
        const id = callId(line.tool_id);
        const mark = line.tool_name.startsWith(OURS) && { ours: true as const };
        if (mark) ours.add(id);
        const name = toolName(mark ? `${SERVER}:${line.tool_name.slice(OURS.length)}` : line.tool_name);
        return [...whole(), { type: 'tool_call', id, name, arguments: keptValue(line.parameters), ...mark }];
      }
      case 'tool_result': {
        const id = callId(line.tool_id);
        const mark = ours.delete(id) && { ours: true as const };
        // A failed command is a success with a text.
        const isError = line.status !== 'success' || FAILED_COMMAND.test(`${line.output ?? ''}`);
        return [{ type: 'tool_result', id, result: keptValue(line.output ?? line.error), isError, ...mark }];
      }
      case 'result': {
        const end: Said =
          line.status === 'success'
            ? { type: 'done', text: text || last }
            : failed(cleanText(line.error?.message ?? 'It reported an error without a message.'));
        return [...whole(), ...usageOf(line), end];
      }
    }
  }

  return (line: string): Said[] => {
    const read = readEvent(event, line);
    return read ? [...begun(read), ...said(read)] : [];
  };
}

function usageOf({ stats }: Extract<Event, { type: 'result' }>): Said[] {
  return Object.entries(stats?.models ?? {})
    .filter(([, used]) => used.input_tokens + used.output_tokens > 0)
    .map(([model, used]) => ({
      type: 'usage',
      inputTokens: used.input_tokens,
      outputTokens: used.output_tokens,
      model,
    }));
}
