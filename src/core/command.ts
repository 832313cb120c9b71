import type { Server } from 'node:net';

/** A program to start: what a provider builds, a sandbox wraps and `process.ts` spawns. */
export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /**
   * What the program finds open, the first as descriptor 3: a path for reading, a number that is open already, or, once at
   * most, a channel over which a Node sends us a listening socket.
   */
  readonly files?: readonly (string | number | SocketReceiver)[];
}

export type SocketReceiver = (listening: Server) => void;

/** A file or directory of the machine, as a confined program sees it. */
export interface Bind {
  readonly source: string;
  /** The same as the source, but for links. */
  readonly target: string;
  readonly mode: 'ro' | 'rw';
}

/** What a program needs beside what every turn has; its provider's file declares it. */
export interface Needs {
  /** False when an agent may have chosen the command's file: it is found only in what is seen anyway. */
  readonly installed?: boolean;
  /** Programs of the agent's own, the command's file perhaps among them, made visible with what is around them. */
  readonly programs?: readonly string[];
  readonly binds?: readonly Bind[];
  /** Hosts that it reaches whatever the configuration allows. */
  readonly hosts?: readonly string[];
  readonly endpoints?: readonly Endpoint[];
}

/** A service whose key the daemon adds on the way: the program is told an address instead of the key. */
export interface Endpoint {
  /** The variable by which the program is told the address. */
  readonly variable: string;
  readonly url: string;
  /** What the daemon adds to each request, such as an `authorization`. */
  readonly headers: Readonly<Record<string, string>>;
}
