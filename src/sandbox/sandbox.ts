import type { Bind, Command, Needs } from '../core/command.ts';

/** One turn's place: what its program may see and reach, whatever its provider needs besides. */
export interface Enclosure {
  /** Read-write, as the home is. */
  readonly workspace: string;
  /** The agent's own, with its sessions; `HOME` inside. */
  readonly home: string;
  /** The run's socket, what speaks to it, and the workspace's links. */
  readonly binds: readonly Bind[];
  /** Hosts that may be reached. */
  readonly hosts: readonly string[];
}

/** What stands between a program and the machine. */
export interface Sandbox {
  readonly mode: 'none';
  /** The command as it has to be started. What it holds for the turn is given back by `release`. */
  confine(command: Command, needs: Needs, enclosure: Enclosure): Promise<Confined>;
}

export interface Confined {
  readonly command: Command;
  release(): Promise<void>;
}
