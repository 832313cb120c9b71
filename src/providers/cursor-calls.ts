import * as z from 'zod';
import { shorten } from '../core/agent.ts';
import { toLine } from '../core/line.ts';
import { cleanText, isTooDeep } from '../core/text.ts';

/** A call of a tool as cursor-agent tells it. */
export interface CursorCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: unknown;
  /** For a tool of ours, which the daemon records itself, its name; null for all others. */
  readonly ours: string | null;
}

export interface CursorReturn {
  readonly result: unknown;
  readonly isError: boolean;
  /** Why it was not executed; null where it was. */
  readonly rejection: string | null;
}

const SERVER = 'substrat';
const MAX_NAME = 200;
/** What is kept of the arguments and of the result of one call, in characters of JSON. */
const MAX_KEPT = 100_000;

const body = z.looseObject({ args: z.unknown().optional(), result: z.record(z.string(), z.unknown()).optional() });
const mcp = z.object({
  name: z.string().default(''),
  args: z.unknown().optional(),
  providerIdentifier: z.string().optional(),
  toolName: z.string().optional(),
});
const named = z.object({ name: z.string(), arguments: z.unknown().optional() });

/** One key says what kind of tool it is: `shellToolCall`, `mcpToolCall`, `function`. Null for what has none. */
export function readCall(id: string, call: Readonly<Record<string, unknown>>): CursorCall | null {
  const found = kindOf(call);
  if (found === null) return null;
  const { kind, args } = found;
  const told = { id: cleanText(id.slice(0, MAX_NAME)), ours: null };
  if (kind === 'mcp') {
    const { data } = mcp.safeParse(args);
    const [server, tool] = data ? addressOf(data) : ['', ''];
    return {
      ...told,
      name: nameFrom(`${server}:${tool}`),
      arguments: kept(data?.args),
      ours: server === SERVER ? nameFrom(tool) : null,
    };
  }
  if (kind === 'function') {
    const { data } = named.safeParse(call.function);
    return { ...told, name: nameFrom(data?.name ?? kind), arguments: kept(data?.arguments) };
  }
  return { ...told, name: nameFrom(kind), arguments: kept(args) };
}

/** What is not a `success` is an error; of these `rejected` and `permissionDenied` were not executed. */
export function readReturn(call: Readonly<Record<string, unknown>>): CursorReturn {
  const result = kindOf(call)?.result ?? {};
  if ('success' in result) return { result: kept(result.success), isError: isFailed(result.success), rejection: null };
  const refusal = result.rejected ?? result.permissionDenied;
  const rejection = refusal === undefined ? null : reasonOf(refusal);
  return { result: kept(result), isError: Object.keys(result).length > 0, rejection };
}

function kindOf(call: Readonly<Record<string, unknown>>) {
  for (const [key, value] of Object.entries(call)) {
    const kind = key === 'function' ? key : /^(\w+)ToolCall$/.exec(key)?.[1];
    const { data } = body.safeParse(value);
    if (kind !== undefined && data) return { kind, args: data.args, result: data.result };
  }
  return null;
}

/** Older releases tell only a name, `server-tool`. */
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

function nameFrom(text: string): string {
  return shorten(toLine(text.slice(0, MAX_NAME)), MAX_NAME) || 'unknown';
}

/** A long or deep value is kept as the beginning of its text. */
function kept(value: unknown): unknown {
  if (value === undefined) return null;
  if (isTooDeep(value)) return '[nested too deeply]';
  const text = JSON.stringify(value);
  return text.length <= MAX_KEPT ? value : `${text.slice(0, MAX_KEPT)}\n[cut: too long]`;
}
