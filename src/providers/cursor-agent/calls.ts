import * as z from 'zod';
import { toLine } from '../../core/line.ts';
import { shorten } from '../../core/text.ts';
import { callId, keptValue, SERVER, toolName } from '../calls.ts';

/** A tool call as cursor-agent reports it. */
export interface CursorCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: unknown;
  /** The name of one of our tools; null for all others. */
  readonly ours: string | null;
}

export interface CursorReturn {
  readonly result: unknown;
  readonly isError: boolean;
  /** Why it was not executed; null if it was. */
  readonly rejection: string | null;
}

const body = z.looseObject({ args: z.unknown().optional(), result: z.record(z.string(), z.unknown()).optional() });
const mcp = z.object({
  name: z.string().default(''),
  args: z.unknown().optional(),
  providerIdentifier: z.string().optional(),
  toolName: z.string().optional(),
});
const named = z.object({ name: z.string(), arguments: z.unknown().optional() });

/** One key says which kind of tool it is: `shellToolCall`, `mcpToolCall`, `function`. Returns null if there is none. */
export function readCall(id: string, call: Readonly<Record<string, unknown>>): CursorCall | null {
  const found = kindOf(call);
  if (found === null) return null;
  const { kind, args } = found;
  const told = { id: callId(id), ours: null };
  if (kind === 'mcp') {
    const { data } = mcp.safeParse(args);
    const [server, tool] = data ? addressOf(data) : ['', ''];
    return {
      ...told,
      name: toolName(`${server}:${tool}`),
      arguments: keptValue(data?.args),
      ours: server === SERVER ? toolName(tool) : null,
    };
  }
  if (kind === 'function') {
    const { data } = named.safeParse(call.function);
    return { ...told, name: toolName(data?.name ?? kind), arguments: keptValue(data?.arguments) };
  }
  return { ...told, name: toolName(kind), arguments: keptValue(args) };
}

/** Anything but `success` is an error; `rejected` and `permissionDenied` were not executed. */
export function readReturn(call: Readonly<Record<string, unknown>>): CursorReturn {
  const result = kindOf(call)?.result ?? {};
  if ('success' in result)
    return { result: keptValue(result.success), isError: isFailed(result.success), rejection: null };
  const refusal = result.rejected ?? result.permissionDenied;
  const rejection = refusal === undefined ? null : reasonOf(refusal);
  return { result: keptValue(result), isError: Object.keys(result).length > 0, rejection };
}

function kindOf(call: Readonly<Record<string, unknown>>) {
  for (const [key, value] of Object.entries(call)) {
    const kind = key === 'function' ? key : /^(\w+)ToolCall$/.exec(key)?.[1];
    const { data } = body.safeParse(value);
    if (kind !== undefined && data) return { kind, args: data.args, result: data.result };
  }
  return null;
}

/** Older releases only report a name, `server-tool`. */
function addressOf({ name, providerIdentifier, toolName }: z.infer<typeof mcp>): [server: string, tool: string] {
  const dash = name.indexOf('-');
  const server = providerIdentifier ?? (dash > 0 ? name.slice(0, dash) : '');
  const tool = toolName ?? (name.startsWith(`${server}-`) ? name.slice(server.length + 1) : name);
  return [server, tool];
}

function isFailed(success: unknown): boolean {
  return typeof success === 'object' && success !== null && 'isError' in success && success.isError === true;
}

function reasonOf(refusal: unknown): string {
  const { data } = z.looseObject({ reason: z.string().optional(), error: z.string().optional() }).safeParse(refusal);
  return shorten(toLine((data?.reason ?? data?.error ?? '').slice(0, 2_000)).replace(/[.\s]+$/, ''), 300);
}
