import * as z from 'zod';
import { cleanText } from '../../core/text.ts';
import { callId, keptValue, SERVER, toolName } from '../calls.ts';
import type { Said } from '../cli.ts';
import { readEvent } from '../lines.ts';
import { failed } from '../verdict.ts';

const count = z.number().nonnegative().catch(0);
const session = { sessionID: z.string().optional() };
const event = z.discriminatedUnion('type', [
  z.object({ ...session, type: z.literal('step_start') }),
  z.object({ ...session, type: z.literal('text'), part: z.object({ text: z.string() }) }),
  z.object({
    ...session,
    type: z.literal('tool_use'),
    part: z.object({
      tool: z.string(),
      callID: z.string(),
      state: z.looseObject({
        status: z.string(),
        input: z.unknown().optional(),
        output: z.unknown().optional(),
        error: z.unknown().optional(),
        metadata: z.looseObject({ exit: z.number().nullish() }).optional().catch(undefined),
      }),
    }),
  }),
  z.object({
    ...session,
    type: z.literal('step_finish'),
    part: z.object({
      reason: z.string(),
      tokens: z.object({
        input: count,
        output: count,
        reasoning: count,
        cache: z.object({ read: count, write: count }).catch({ read: 0, write: 0 }),
      }),
      cost: z.number().nonnegative().optional().catch(undefined),
    }),
  }),
  z.object({
    ...session,
    type: z.literal('error'),
    error: z.object({
      name: z.string(),
      data: z.looseObject({ message: z.string().optional(), statusCode: z.number().optional() }).optional(),
    }),
  }),
]);

type Event = z.infer<typeof event>;
type Tool = Extract<Event, { type: 'tool_use' }>['part'];
type Finish = Extract<Event, { type: 'step_finish' }>['part'];

const OURS = `${SERVER}_`;

/** Parses the lines of one turn of `opencode run --format json`. It has no final event: the last step ends the turn. */
export function createParser() {
  let text = '';

  function said(line: Event): Said[] {
    switch (line.type) {
      case 'step_start':
        return [];
      case 'text':
        text = cleanText(line.part.text);
        return [{ type: 'text', text }];
      case 'tool_use':
        return called(line.part);
      case 'step_finish':
        return [usageOf(line.part), ...(line.part.reason === 'tool-calls' ? [] : [{ type: 'done' as const, text }])];
      case 'error': {
        const { name, data } = line.error;
        const message = cleanText(data?.message ?? name);
        if (name === 'ContextOverflowError') return [{ type: 'error', kind: 'context_full', message }];
        return [failed(message, { status: data?.statusCode })];
      }
    }
  }

  return (line: string): Said[] => {
    const read = readEvent(event, line);
    if (!read) return [];
    return [...(read.sessionID ? [{ type: 'session' as const, session: read.sessionID }] : []), ...said(read)];
  };
}

/** It reports a call when it is over. A failed command is `completed`, with its exit code. */
function called({ tool, callID, state }: Tool): Said[] {
  const id = callId(callID);
  const mark = tool.startsWith(OURS) && { ours: true as const };
  const name = toolName(mark ? `${SERVER}:${tool.slice(OURS.length)}` : tool);
  const isError = state.status === 'error' || (state.metadata?.exit ?? 0) !== 0;
  const result = keptValue(state.output ?? state.error);
  return [
    { type: 'tool_call', id, name, arguments: keptValue(state.input), ...mark },
    { type: 'tool_result', id, result, isError, ...mark },
  ];
}

function usageOf({ tokens: { input, output, reasoning, cache }, cost }: Finish): Said {
  const counts = { inputTokens: input + cache.read + cache.write, outputTokens: output + reasoning };
  return { type: 'usage', ...counts, ...(cost !== undefined && cost > 0 && { costUsd: cost }) };
}
