import type { Engine } from './query.ts';
import type { Tx } from './tx.ts';

export type { Engine } from './query.ts';
export type { Part, Tx } from './tx.ts';
export type * from './views.ts';

/** What listeners get after a commit. */
export interface Change {
  /** Number of the last event. */
  readonly seq: number;
  /** A run may have become ready to be claimed, or a timer was set. */
  readonly runnable: boolean;
}

/** Where a store logs that it lost a connection, and that it has it back. */
export interface StoreLog {
  readonly info: (details: object, message: string) => void;
  readonly warn: (details: object, message: string) => void;
}

export interface Store {
  readonly engine: Engine;
  /** Reads committed data, never a part of a batch. */
  read<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /**
   * Runs `work` alone, in one transaction, and resolves when it is durable. Writers are serial, on PostgreSQL across
   * all nodes, so `work` may read and then decide. It may be executed more than once, or fail at its commit: it must
   * do no I/O except on the store and change nothing in memory. It returns what must change in memory, and the caller
   * applies that afterwards.
   */
  write<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /**
   * Called after every commit with events or runs, on PostgreSQL also after other nodes' commits: immediately while
   * the connection for their hints is up, otherwise within seconds, by polling.
   */
  onChange(listener: (change: Change) => void): () => void;
  /** The number of commits of this process; benchmarks use it to see how many writers shared one. */
  commits(): number;
  /** Why nothing can be written any more: the file of the store was changed from outside. Null if it is fine. */
  problem(): string | null;
  close(): Promise<void>;
}
