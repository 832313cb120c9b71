import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Bind, Command, Needs } from '../core/command.ts';
import type { Inside } from './namespace.ts';

export type ServeTools = (request: IncomingMessage, response: ServerResponse) => void;

/** What the program of one turn may see and reach, apart from what its provider needs. */
export interface Enclosure {
  /** Read-write, like the home. */
  readonly workspace: string;
  /** Where it is outside; default: at the same path. */
  readonly source?: string;
  /** The agent's home with its sessions; `HOME` inside the sandbox. */
  readonly home: string;
  /** The agent's directory. The sandbox's own files in it are not visible inside. */
  readonly directory: string;
  /** The run's socket, its client, and the workspace's links. No source path contains a symlink. */
  readonly binds: readonly Bind[];
  /** Hosts that may be reached. */
  readonly hosts: readonly string[];
  /** Serves the run's tools to programs that need them over HTTP. */
  readonly serveTools?: ServeTools;
}

/** Confines programs. */
export interface Sandbox {
  readonly mode: 'bwrap' | 'none';
  /** Why nothing can be started and how to fix it; null if it works. */
  problem(): Promise<string | null>;
  /** Returns the command to start. `release` frees what it holds for the turn. */
  confine(command: Command, needs: Needs, enclosure: Enclosure): Promise<Confined>;
  /** Kills and removes what a dead daemon left of an agent's turn in its directory. */
  tidy(directory: string): Promise<void>;
}

export interface Confined {
  readonly command: Command;
  /** Null before the program starts, after `release`, and without a sandbox. */
  inside(): Inside | null;
  /** The bytes that have passed its proxy. */
  traffic(): number;
  /** Resolves when no process of the turn is alive. */
  release(): Promise<void>;
}
