import type { LogLevel, Script } from './script.ts';

/** What a thread is started with. */
export interface ThreadData {
  /** Set to 1 when a reply has been posted; the thread sleeps on it. */
  readonly signal: Int32Array<SharedArrayBuffer>;
  readonly memoryBytes: number;
  readonly resultBytes: number;
}

export interface ScriptJob {
  readonly script: Script;
  readonly call: {
    readonly method: string;
    readonly args: readonly unknown[];
    readonly context: boolean;
    readonly config: unknown;
  } | null;
}

/** From the thread: ready for a job, a host call (it sleeps), a log line, or finished. */
export type FromThread =
  | { readonly type: 'ready' }
  | { readonly type: 'ask'; readonly operation: string; readonly args: readonly unknown[] }
  | { readonly type: 'log'; readonly level: LogLevel; readonly message: string }
  | { readonly type: 'done'; readonly outcome: ScriptOutcome; readonly spent: boolean };

export type ScriptOutcome =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly message: string };
