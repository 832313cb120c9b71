import * as z from 'zod';
import { callId, keptValue, SERVER, toolName } from '../calls.ts';
import type { Said } from '../cli.ts';

/** Items that are not calls of tools. */
const SILENT = ['userMessage', 'agentMessage', 'reasoning', 'plan', 'hookPrompt', 'contextCompaction', 'sleep'];

interface Item {
  readonly type: string;
  readonly id: string;
  readonly [field: string]: unknown;
}

const mcp = z.object({
  server: z.string(),
  tool: z.string(),
  arguments: z.unknown().optional(),
  status: z.string().optional(),
  result: z.object({ content: z.unknown().optional() }).nullish(),
  error: z.unknown().optional(),
});
const command = z.object({
  command: z.string(),
  cwd: z.string().optional(),
  aggregatedOutput: z.string().nullish(),
  exitCode: z.number().nullish(),
  status: z.string().optional(),
});
const change = z.object({ changes: z.unknown().optional(), status: z.string().optional() });

interface Call {
  readonly name: string;
  readonly arguments: unknown;
  readonly result: unknown;
  readonly isError: boolean;
  readonly ours?: true;
}

/** A tool call, at its start or, with its result, at its end. */
export function readItem(item: Item, isComplete: boolean): Said[] {
  if (SILENT.includes(item.type)) return [];
  const { name, arguments: given, result, isError, ours } = readCall(item);
  const id = callId(item.id);
  const mark = ours && { ours };
  const call: Said = { type: 'tool_call', id, name, arguments: keptValue(given), ...mark };
  return isComplete ? [call, { type: 'tool_result', id, result: keptValue(result), isError, ...mark }] : [call];
}

function readCall(item: Item): Call {
  if (item.type === 'mcpToolCall') {
    const { data } = mcp.safeParse(item);
    const name = toolName(`${data?.server}:${data?.tool}`);
    const isError = data?.status === 'failed' || Boolean(data?.error);
    const result = data?.result?.content ?? data?.error;
    return { name, arguments: data?.arguments, result, isError, ...(data?.server === SERVER && { ours: true }) };
  }
  if (item.type === 'commandExecution') {
    const { data } = command.safeParse(item);
    const { exitCode = null } = data ?? {};
    const isError = isFailed(data?.status) || (exitCode !== null && exitCode !== 0);
    const result = { output: data?.aggregatedOutput ?? '', exitCode };
    return { name: 'shell', arguments: { command: data?.command, cwd: data?.cwd }, result, isError };
  }
  if (item.type === 'fileChange') {
    const { data } = change.safeParse(item);
    return { name: 'apply_patch', arguments: data?.changes, result: data?.status, isError: isFailed(data?.status) };
  }
  const { type, id: _, status, ...rest } = item;
  return { name: toolName(type), arguments: rest, result: status, isError: isFailed(status) };
}

function isFailed(status: unknown): boolean {
  return status === 'failed' || status === 'declined';
}
