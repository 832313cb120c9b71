import type { Readable, Writable } from 'node:stream';
import type { ProcessGroup } from './process-group.ts';

/** A started program, the leader of its own process group. */
export interface Program {
  readonly group: ProcessGroup;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Never rejects. */
  readonly exited: Promise<Exit>;
  /** Resolves when it has sent the sockets that it sends. */
  readonly ready?: Promise<void> | undefined;
  /** Signals its group, unless it has exited. */
  signal(signal: NodeJS.Signals): void;
  /** Closes the pipes. */
  close(): void;
}

export interface Exit {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Whether something of its group may be left. */
  readonly isLeft: boolean;
  /** Nobody knows how it exited, because the process that started it is gone. */
  readonly isLost?: true;
}
