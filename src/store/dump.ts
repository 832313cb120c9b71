import type { ChunkPlace } from '../core/document.ts';
import type { Engine } from './query.ts';

/** A row as both engines give it; only vectors are bytes. */
export type Row = Readonly<Record<string, string | number | Uint8Array | null>>;

export interface Counter {
  readonly table: string;
  readonly value: number;
}

/**
 * Everything in a store as it is at one moment, whoever writes meanwhile. The indexes of words are left out: each engine has its
 * own, and they are made again from what they index.
 */
export interface Snapshot {
  readonly engine: Engine;
  readonly version: number;
  readonly tables: readonly string[];
  /** Keys that are never given twice: the last one of each table that counts them. */
  readonly counters: readonly Counter[];
  /** The rows of a table, a few at a time. */
  rows(table: string): AsyncIterable<readonly Row[]>;
  close(): Promise<void>;
}

/**
 * A store that is being filled from a snapshot, in one transaction: until `commit` nobody sees any of it, and a process that dies
 * leaves nothing of it.
 */
export interface Load {
  /** The columns of each table at the schema version of the snapshot. */
  readonly tables: ReadonlyMap<string, ReadonlySet<string>>;
  insert(table: string, rows: readonly Row[]): Promise<void>;
  /** Checks references, brings the schema up to date, makes the indexes of words and the changes that a restore needs. */
  finish(finishing: Finishing): Promise<void>;
  commit(): Promise<void>;
  abort(): Promise<void>;
}

export interface Finishing {
  readonly counters: readonly Counter[];
  /** The words by which a passage is found. */
  readonly passageWords: (passage: { readonly content: string; readonly tags: readonly string[] }) => readonly string[];
  readonly chunkWords: (chunk: {
    readonly title: string | null;
    readonly place: ChunkPlace;
    readonly text: string;
  }) => {
    readonly title: string;
    readonly words: string;
  };
  /** The home of the node that was backed up, and where it is now. */
  readonly move: { readonly nodeId: string; readonly from: string; readonly to: string } | null;
}
