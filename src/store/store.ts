import type { Engine } from './query.ts';
import type { Tx } from './tx.ts';

export type { Engine } from './query.ts';
export type { Part, Tx } from './tx.ts';
export type * from './views.ts';

/** What listeners hear after a commit. */
export interface Change {
  /** Number of the last event. */
  readonly seq: number;
  /** A run may have become ready to be claimed, or a timer was set. */
  readonly runnable: boolean;
}

/** Where a store says that it lost a connection, and that it has it back. */
export interface StoreLog {
  readonly info: (details: object, message: string) => void;
  readonly warn: (details: object, message: string) => void;
}

export interface Store {
  readonly engine: Engine;
  /** Reads what is committed, never a part of a batch. */
  read<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /**
   * Runs `work` alone, in one transaction, and answers when it is durable. Writers are serial, on PostgreSQL across all
   * nodes, so `work` may read and then decide. It may be executed more than once, or fail at its commit: it does no I/O but
   * the store's and changes nothing in memory. It returns what memory has to learn, and the caller changes that afterwards.
   */
  write<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /**
   * Called after every commit that brought events or runs, on PostgreSQL also after other nodes': at once while the connection for
   * their hints is up, otherwise within seconds, because the store looks itself.
   */
  onChange(listener: (change: Change) => void): () => void;
  /** Commits made so far by this process: benchmarks tell from it how many writers shared one. */
  commits(): number;
  /** Why nothing is written any more: the file of the store is not what it was. Null where all is well. */
  problem(): string | null;
  close(): Promise<void>;
}
