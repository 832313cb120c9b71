import type { Engine } from './query.ts';
import type { Tx } from './tx.ts';

export type { IdKind } from './ids.ts';
export type { Engine } from './query.ts';
export type { TracedRun } from './traces.ts';
export type { Part, Tx } from './tx.ts';
export type * from './views.ts';

/** What listeners get after a commit. */
export interface Change {
  /** Number of the last event that has one; on PostgreSQL events are numbered shortly after their commit. */
  readonly seq: number;
  /** A run may have become ready to be claimed, or a timer was set. */
  readonly runnable: boolean;
}

/** Where a store logs that it lost a connection, and that it has it back. */
export interface StoreLog {
  readonly info: (details: object, message: string) => void;
  readonly warn: (details: object, message: string) => void;
}

export interface ReadOptions {
  /**
   * It may take more than a few milliseconds: a search, sums over much, a long list. On SQLite such a read runs in a
   * thread of its own, in one snapshot, where the process that opened the store asked for threads. It fails after half
   * a minute.
   */
  readonly long?: boolean;
  /** When nobody waits for the result of a long read any more: what has not begun never does. */
  readonly signal?: AbortSignal | undefined;
}

export interface Store {
  readonly engine: Engine;
  /** Reads committed data, never a part of a batch. */
  read<T>(work: (tx: Tx) => Promise<T>, options?: ReadOptions): Promise<T>;
  /**
   * Runs `work` in one transaction as if it were alone, and resolves when it is durable. It may be executed more than
   * once, or fail at its commit: it must do no I/O except on the store and change nothing in memory. It returns what
   * must change in memory, and the caller applies that afterwards. `like` names writes that change the same things: on
   * PostgreSQL, where writers run at the same time, the next one locks them at once. Several names: the first that is
   * known counts, and the write is remembered by the first.
   */
  write<T>(work: (tx: Tx) => Promise<T>, ...like: readonly string[]): Promise<T>;
  /**
   * Called after every commit with events or runs, on PostgreSQL also after other nodes' commits: immediately while
   * the connection for their hints is up, otherwise within seconds, by polling.
   */
  onChange(listener: (change: Change) => void): () => void;
  /** Sends a short text to the other nodes, at once and without storing it. It can be lost. */
  whisper(text: string): void;
  /** Called with what other nodes whisper. */
  onWhisper(listener: (text: string) => void): () => void;
  /** The number of commits of this process; benchmarks use it to see how many writers shared one. */
  commits(): number;
  /** How often writers of this process waited for the server; what is sent together counts once. 0 without a server. */
  roundTrips(): number;
  /** Why nothing can be written any more: the file of the store was changed from outside. Null if it is fine. */
  problem(): string | null;
  close(): Promise<void>;
}
