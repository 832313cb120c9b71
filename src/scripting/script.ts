import type { Knowledge } from '../core/knowledge.ts';

/** Runs Lua for personas, tools and connectors. A script cannot hang or crash the process, or exhaust its memory. */
export interface Scripting {
  /** Throws `script_error` for errors of the script, `timeout` at its limit. */
  run(script: Script, call: ScriptCall | null): Promise<unknown>;
  /** Starts a thread before it is first needed. */
  warmUp(): void;
  close(): Promise<void>;
}

export interface Script {
  /** The name in errors and log lines. */
  readonly name: string;
  readonly source: string;
  /** The table that the script sets or returns: `agent`, `tool` or `connector`. */
  readonly global: string;
  /** The only directory that `fs` can read; null for none. */
  readonly directory: string | null;
  /** The variables of `env.get`. */
  readonly env: Readonly<Record<string, string>>;
  /** The hosts that `http` may reach; null for any. */
  readonly network: readonly string[] | null;
  readonly timeoutMs: number;
  /** A larger limit for the result, if needed. */
  readonly resultBytes?: number | undefined;
}

/** A function of the script's table to call. Without a call, the result is the table's fields. */
export interface ScriptCall {
  readonly method: string;
  readonly args: readonly unknown[];
  /** Passes a last argument `context` to the function; this is its `config`. */
  readonly context?: { readonly config: unknown } | undefined;
  readonly knowledge?: Knowledge | undefined;
  readonly log?: ScriptLog | undefined;
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';
export type ScriptLog = (level: LogLevel, message: string) => void;
