import * as z from 'zod';
import { cleanText } from '../../core/text.ts';
import { callId, keptValue, SERVER, toolName } from '../calls.ts';
import type { Said } from '../cli.ts';
import { readEvent } from '../lines.ts';
import { type Failed, failed } from '../verdict.ts';

const event = z.discriminatedUnion('type', [
  z.object({ type: z.literal('assistant.message_delta'), data: z.object({ deltaContent: z.string() }) }),
  z.object({ type: z.literal('assistant.message'), data: z.object({ content: z.string() }) }),
  z.object({
    type: z.literal('tool.execution_start'),
    data: z.object({
      toolCallId: z.string(),
      toolName: z.string(),
      arguments: z.unknown().optional(),
      mcpServerName: z.string().optional(),
      mcpToolName: z.string().optional(),
    }),
  }),
  z.object({
    type: z.literal('tool.execution_complete'),
    data: z.object({
      toolCallId: z.string(),
      success: z.boolean(),
      result: z.object({ content: z.unknown().optional() }).optional().catch(undefined),
      error: z.unknown().optional(),
      shellExecution: z.object({ exitCode: z.number().nullish() }).optional().catch(undefined),
    }),
  }),
  z.object({
    type: z.literal('session.error'),
    data: z.object({ errorType: z.string().optional(), message: z.string(), statusCode: z.number().nullish() }),
  }),
  z.object({ type: z.literal('result'), exitCode: z.number() }),
]);

/** Parses the lines of one turn. A failed command is a success with an exit code. */
export function createParser() {
  const ours = new Set<string>();
  let text = '';
  let failure: Failed | null = null;

  return (line: string): Said[] => {
    const said = readEvent(event, line);
    switch (said?.type) {
      case 'assistant.message_delta':
        return [{ type: 'delta', text: cleanText(said.data.deltaContent) }];
      case 'assistant.message':
        if (said.data.content === '') return [];
        text = cleanText(said.data.content);
        return [{ type: 'text', text }];
      case 'tool.execution_start': {
        const { toolCallId, toolName: tool, arguments: given, mcpServerName: server, mcpToolName } = said.data;
        const id = callId(toolCallId);
        const mark = server === SERVER && { ours: true as const };
        if (mark) ours.add(id);
        const name = toolName(server === undefined ? tool : `${server}:${mcpToolName ?? tool}`);
        return [{ type: 'tool_call', id, name, arguments: keptValue(given), ...mark }];
      }
      case 'tool.execution_complete': {
        const { toolCallId, success, result, error, shellExecution } = said.data;
        const id = callId(toolCallId);
        const mark = ours.delete(id) && { ours: true as const };
        const isError = !success || (shellExecution?.exitCode ?? 0) !== 0;
        return [{ type: 'tool_result', id, result: keptValue(result?.content ?? error), isError, ...mark }];
      }
      case 'session.error': {
        const { message, statusCode, errorType } = said.data;
        failure = failed(cleanText(message), { status: statusCode ?? (errorType === 'rate_limit' ? 429 : null) });
        return [];
      }
      case 'result':
        if (said.exitCode === 0) return [{ type: 'done', text }];
        return [failure ?? failed(`It ended with code ${said.exitCode} without a message.`)];
      default:
        return [];
    }
  };
}
