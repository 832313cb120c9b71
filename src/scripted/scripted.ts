import { readFileSync } from 'node:fs';
import { text as readAll } from 'node:stream/consumers';
import type { FailureKind } from '../core/failure.ts';
import type { ScriptedTurn } from '../core/scripted-turn.ts';
import {
  connectMcp,
  type McpClient,
  type McpServerEntry,
  type Tool,
  ToolError,
  type ToolResult,
} from './mcp-client.ts';

export type { CarriedKind, CarriedMessage, JournalEntry } from '../core/run.ts';
export type { FailureKind, ScriptedTurn, Tool, ToolResult };
export { ToolError };

/** The return value is the final text of the turn; without one, it is the last text that the agent said. */
export type Agent = (context: AgentContext) => string | undefined | Promise<string | undefined> | Promise<void>;

/** One turn, and what an agent can do in it. */
export interface AgentContext extends ScriptedTurn {
  /** Calls one of the agent's tools and returns its result. An error of the tool is thrown as `ToolError`. */
  call<T = Record<string, unknown>>(tool: string, args?: object): Promise<T>;
  /** The uninterpreted result: all content blocks, including errors. */
  callRaw(tool: string, args?: object): Promise<ToolResult>;
  /** The tools that this agent may call. */
  tools(): Promise<Tool[]>;
  /** Shows a text during the turn. */
  say(text: string): void;
  /** Stored by the daemon and passed to the next turn as `session`. */
  setSession(session: string): void;
  usage(usage: { readonly inputTokens: number; readonly outputTokens: number; readonly costUsd?: number }): void;
}

/** Thrown by an agent that knows why its turn fails, such as `rate_limit`; any other error is a `crash`. */
export class TurnError extends Error {
  readonly kind: FailureKind;
  readonly retryAfterMs: number | undefined;

  constructor(kind: FailureKind, message: string, options?: { readonly retryAfterMs?: number }) {
    super(message);
    this.name = 'TurnError';
    this.kind = kind;
    this.retryAfterMs = options?.retryAfterMs;
  }
}

/**
 * Runs one turn of the agent. Afterwards this library does not keep the process alive. A handle that the agent left
 * open, such as a timer, does, until the turn's timeout.
 */
export async function runAgent(agent: Agent): Promise<void> {
  let client: McpClient | undefined;
  let final: object;
  try {
    const turn: ScriptedTurn = JSON.parse(await readAll(process.stdin));
    const connect = () => {
      client ??= connectMcp(readEntry(turn.mcpConfig));
      return client;
    };
    const text = await agent(toContext(turn, connect));
    final = { type: 'done', ...(typeof text === 'string' && { text }) };
  } catch (error) {
    final = toErrorEvent(error);
    process.exitCode = 1;
  }
  await client?.close();
  emit(final);
}

function toContext(turn: ScriptedTurn, client: () => McpClient): AgentContext {
  return {
    ...turn,
    async call<T>(tool: string, args: object = {}): Promise<T> {
      return toValue(await client().callTool(tool, args)) as T;
    },
    callRaw: async (tool, args = {}) => client().callTool(tool, args),
    tools: async () => client().listTools(),
    say: (text) => emit({ type: 'text', text }),
    setSession: (session) => emit({ type: 'session', session }),
    usage: (usage) => emit({ type: 'usage', ...usage }),
  };
}

function emit(event: object): void {
  process.stdout.write(`${JSON.stringify(event)}\n`);
}

function toErrorEvent(error: unknown): object {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof TurnError) return { type: 'error', kind: error.kind, message, retryAfterMs: error.retryAfterMs };
  return { type: 'error', kind: 'crash', message };
}

function toValue(result: ToolResult): unknown {
  const value = result.structuredContent ?? parseText(result.content[0]?.text ?? '');
  if (!result.isError) return value;
  const error = (value as { error?: { code?: string; message?: string } } | null)?.error;
  throw new ToolError(error?.code ?? 'internal', error?.message ?? JSON.stringify(value));
}

/** Substrat's tools return JSON in any form of result; a text of another tool is returned unchanged. */
function parseText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return { text };
  }
}

function readEntry(path: string) {
  const read: { mcpServers?: { substrat?: McpServerEntry } } = JSON.parse(readFileSync(path, 'utf8'));
  const entry = read.mcpServers?.substrat;
  if (!entry) throw new Error(`${path} does not contain mcpServers.substrat.`);
  return entry;
}
