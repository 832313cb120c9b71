import * as z from 'zod';
import { callId, keptValue, SERVER, toolName } from '../calls.ts';
import type { Said } from '../cli.ts';

/** A tool call, or the part of it that has changed. */
export const toolCall = z.looseObject({
  toolCallId: z.string(),
  title: z.string().nullish(),
  kind: z.string().nullish(),
  status: z.string().nullish(),
  rawInput: z.unknown().optional(),
  rawOutput: z.unknown().optional(),
  content: z.unknown().optional(),
  /** Where some programs have the name of the tool. */
  name: z.string().nullish(),
});

export type ToolCall = z.infer<typeof toolCall>;

const outcome = z.looseObject({
  exitCode: z.number().nullish(),
  exit_code: z.number().nullish(),
  metadata: z.looseObject({ exit: z.number().nullish() }).nullish(),
});
const mcpInput = z.object({ server: z.string(), tool: z.string() });

/** The titles under which programs show the tools of an MCP server. */
const TITLES = [
  new RegExp(`^(?:Tool: )?(?:mcp__)?${SERVER}(?:__|[_:/.-])(\\w+)$`),
  new RegExp(`^(\\w+) \\(${SERVER} MCP Server\\)$`),
];

/** Kinds that an MCP tool may have. Every other kind is a tool of the program's own: models choose titles and arguments. */
const MCP_KINDS: readonly unknown[] = ['other', undefined, null];
/** Arguments of a shell; no tool of ours has them. */
const SHELL_FIELDS = ['command', 'cmd', 'script'];

/** The name of the called tool of ours; null if it is another tool. */
export function ourTool({ name, title, kind, rawInput }: ToolCall): string | null {
  const fields = typeof rawInput === 'object' && rawInput !== null ? Object.keys(rawInput) : [];
  if (!MCP_KINDS.includes(kind) || fields.some((field) => SHELL_FIELDS.includes(field))) return null;
  const { data } = mcpInput.safeParse(rawInput);
  if (data) return data.server === SERVER ? data.tool : null;
  for (const shown of [name, title]) {
    for (const pattern of TITLES) {
      const [, tool] = pattern.exec(shown ?? '') ?? [];
      if (tool !== undefined) return tool;
    }
  }
  return null;
}

interface Known {
  readonly call: ToolCall;
  readonly isTold: boolean;
}

/** Follows the tool calls of a turn, whose parts arrive one after the other. */
export function createCalls() {
  const known = new Map<string, Known>();

  function heard(part: ToolCall): Said[] {
    const before = known.get(part.toolCallId);
    const call = before ? merge(before.call, part) : part;
    const isOver = call.status === 'completed' || call.status === 'failed';
    // The arguments of a call that is pending may not be known yet.
    const isTold = before?.isTold || isOver || call.status === 'in_progress' || hasInput(call.rawInput);
    const said = isTold && !before?.isTold ? [begun(call)] : [];
    if (!isOver) known.set(call.toolCallId, { call, isTold });
    else known.delete(call.toolCallId);
    return isOver ? [...said, result(call)] : said;
  }

  return {
    heard,
    /** The calls that were announced and never began or ended. */
    rest: (): Said[] => [...known.values()].flatMap(({ call, isTold }) => (isTold ? [] : [begun(call)])),
  };
}

/** A title may change while a tool runs; the first one names it. */
function merge(before: ToolCall, part: ToolCall): ToolCall {
  const given = Object.entries(part).filter(([, value]) => value !== null && value !== undefined);
  const input = hasInput(part.rawInput) ? part.rawInput : before.rawInput;
  return { ...before, ...Object.fromEntries(given), title: before.title ?? part.title, rawInput: input };
}

function hasInput(input: unknown): boolean {
  return typeof input === 'object' && input !== null ? Object.keys(input).length > 0 : Boolean(input);
}

function begun(call: ToolCall): Said {
  const id = callId(call.toolCallId);
  const ours = ourTool(call);
  if (ours !== null)
    return {
      type: 'tool_call',
      id,
      name: toolName(`${SERVER}:${ours}`),
      arguments: keptValue(call.rawInput),
      ours: true,
    };
  const { title, kind } = call;
  const name = toolName(call.name ?? (kind && kind !== 'other' ? kind : (title ?? 'unknown')));
  return { type: 'tool_call', id, name, arguments: keptValue(hasInput(call.rawInput) ? call.rawInput : { title }) };
}

function result(call: ToolCall): Said {
  const value = keptValue(call.rawOutput ?? call.content);
  const mark = ourTool(call) !== null && { ours: true as const };
  return { type: 'tool_result', id: callId(call.toolCallId), result: value, isError: isFailed(call), ...mark };
}

/** Some programs call a command that failed "completed". */
function isFailed({ status, rawOutput }: ToolCall): boolean {
  const { data } = outcome.safeParse(rawOutput);
  return status === 'failed' || Boolean(data?.exitCode || data?.exit_code || data?.metadata?.exit);
}
