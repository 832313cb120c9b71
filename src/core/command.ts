import type { Server } from 'node:net';

/** A program to start. A provider builds it, a sandbox wraps it, `process.ts` spawns it. */
export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /**
   * Files that the program inherits, starting at descriptor 3: a path opened for reading, a descriptor that is
   * already open, or, at most once, a channel over which a Node process sends us listening sockets.
   */
  readonly files?: readonly (string | number | SocketReceiver)[];
}

/** Takes the sockets in the order in which they are sent. The channel is closed after the last one; then the program gets its input. */
export interface SocketReceiver {
  readonly count: number;
  receive(listening: Server, index: number): void;
}

/** A file or directory as mounted for a sandboxed program. */
export interface Bind {
  readonly source: string;
  /** Equals the source, except for symlinks. */
  readonly target: string;
  readonly mode: 'ro' | 'rw';
}

/** What a program needs in addition to what every turn has; declared by its provider. */
export interface Needs {
  /**
   * False if an agent may have chosen the command's file: it is then only looked up in paths that are visible anyway.
   */
  readonly installed?: boolean;
  /**
   * The agent's own programs, possibly including the command's file. They are made visible together with their
   * surroundings.
   */
  readonly programs?: readonly string[];
  readonly binds?: readonly Bind[];
  /** Hosts that are reachable regardless of the configuration. */
  readonly hosts?: readonly string[];
  readonly endpoints?: readonly Endpoint[];
  /** The run's tools over HTTP, at `TOOLS_ADDRESS`. */
  readonly tools?: boolean;
  /** The program connects to nothing before it has read its input, so it starts while its ports are being opened. */
  readonly waits?: boolean;
  /** Where the daemon is root, the program has another uid inside; its files are the same. */
  readonly refusesRoot?: boolean;
}

/**
 * A service whose key the daemon adds to each request: the program gets an address instead of the key. With a
 * `dialect`, only model requests are admitted (`sandbox/dialect.ts`); without one, everything below the URL.
 */
export interface Endpoint {
  /** The environment variable that holds the address. */
  readonly variable: string;
  readonly url: string;
  /** Headers that the daemon adds to each request, such as `authorization`. They replace the program's. */
  readonly headers: Readonly<Record<string, string>>;
  readonly dialect?: Dialect;
  /** The models that may be requested; undefined: any. Needs a `dialect`. */
  readonly models?: readonly string[];
  /** Asked before each request of a `dialect` that a model answers. Null: it is not sent. */
  readonly onRequest?: AdmitRequest;
  /** Called at the end of each response of a `dialect`, also of a failed one. Must not throw. */
  readonly onAnswer?: (answer: ModelAnswer) => void;
}

/** How a model service is asked. `openai` is both the Responses and the Chat Completions API. */
export type Dialect = 'anthropic' | 'openai' | 'gemini';

/** What a model request can use at most. */
export interface ModelRequest {
  readonly model: string | null;
  /** Estimated. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** With less than this, the model could not answer. */
  readonly leastOutput: number;
}

/** A request that may be sent. What it can use is held back until it is over. */
export interface Admission {
  /** How much the model may write. */
  readonly outputTokens: number;
  /** What it used was counted, or it used nothing. May be called more than once. */
  over(): void;
}

export type AdmitRequest = (request: ModelRequest) => Promise<Admission | null>;

/** One response of a model service as the proxy saw it: the sandbox cannot forge these numbers. */
export interface ModelAnswer {
  readonly status: number;
  readonly model: string | null;
  /** With what was read from or written to a cache. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** How long the service asked to wait; null if it did not. */
  readonly retryAfterMs: number | null;
}
