import type { Knowledge } from '../core/knowledge.ts';

/** Lua for personas, tools and connectors: a script can neither hang, nor crash, nor outgrow the process that runs it. */
export interface Scripting {
  /** Throws `script_error` for whatever the script did wrong, `timeout` at its limit. */
  run(script: Script, call: ScriptCall | null): Promise<unknown>;
  /** Starts a thread ahead of its first use. */
  warmUp(): void;
  close(): Promise<void>;
}

export interface Script {
  /** As errors and log lines name it. */
  readonly name: string;
  readonly source: string;
  /** The table that the script sets or returns: `agent`, `tool` or `connector`. */
  readonly global: string;
  /** The only directory that `fs` reads, null for none. */
  readonly directory: string | null;
  /** What `env.get` knows. */
  readonly env: Readonly<Record<string, string>>;
  /** The hosts that `http` may reach, null for any. */
  readonly network: readonly string[] | null;
  readonly timeoutMs: number;
  /** How much it may hand over at once, where it is more than usual. */
  readonly resultBytes?: number | undefined;
}

/** A function of the script's table to call. Without a call, the script's fields are the result. */
export interface ScriptCall {
  readonly method: string;
  readonly args: readonly unknown[];
  /** Gives the function a last argument `context`; its `config` is this. */
  readonly context?: { readonly config: unknown } | undefined;
  readonly knowledge?: Knowledge | undefined;
  readonly log?: ScriptLog | undefined;
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';
export type ScriptLog = (level: LogLevel, message: string) => void;
