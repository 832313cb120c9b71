import type { Bind, Command, Needs } from '../core/command.ts';

/** One turn's place: what its program may see and reach, whatever its provider needs besides. */
export interface Enclosure {
  /** Read-write, as the home is. */
  readonly workspace: string;
  /** The agent's own, with its sessions; `HOME` inside. */
  readonly home: string;
  /** The agent's, outside: what the sandbox itself keeps there while the turn lives is not seen inside. */
  readonly directory: string;
  /** The run's socket, what speaks to it, and the workspace's links. No source has a symbolic link on its way. */
  readonly binds: readonly Bind[];
  /** Hosts that may be reached. */
  readonly hosts: readonly string[];
}

/** What stands between a program and the machine. */
export interface Sandbox {
  readonly mode: 'bwrap' | 'none';
  /** Why nothing can be started, in sentences that say what to do; null when all is well. */
  problem(): Promise<string | null>;
  /** The command as it has to be started. What it holds for the turn is given back by `release`. */
  confine(command: Command, needs: Needs, enclosure: Enclosure): Promise<Confined>;
  /** Ends and removes what a dead daemon left of an agent's turn in its directory. */
  tidy(directory: string): Promise<void>;
}

export interface Confined {
  readonly command: Command;
  /** Resolves when nothing of the turn lives any more. */
  release(): Promise<void>;
}
