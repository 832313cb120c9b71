import type { ChunkPlace } from '../core/document.ts';
import type { Passage } from '../core/memory.ts';
import type { Engine } from './query.ts';
import type { PassageWords } from './views.ts';

/** A row as returned by both engines; only vectors are bytes. */
export type Row = Readonly<Record<string, string | number | Uint8Array | null>>;

export interface Counter {
  readonly table: string;
  readonly value: number;
}

/**
 * The contents of a store at one moment, unaffected by concurrent writes. Full-text indexes are left out: each engine
 * has its own, and they are rebuilt.
 */
export interface Snapshot {
  readonly engine: Engine;
  readonly version: number;
  readonly tables: readonly string[];
  /** Keys that are never reused: the last one of each table that counts them. */
  readonly counters: readonly Counter[];
  /** The rows of a table, in batches. */
  rows(table: string): AsyncIterable<readonly Row[]>;
  close(): Promise<void>;
}

/**
 * A store being filled from a snapshot, in one transaction: nothing is visible before `commit`, and a crash leaves
 * nothing behind.
 */
export interface Load {
  /** The columns of each table at the snapshot's schema version. */
  readonly tables: ReadonlyMap<string, ReadonlySet<string>>;
  insert(table: string, rows: readonly Row[]): Promise<void>;
  /**
   * Checks references, migrates the schema, builds the full-text indexes, and makes the changes that a restore needs.
   */
  finish(finishing: Finishing): Promise<void>;
  commit(): Promise<void>;
  abort(): Promise<void>;
}

export interface Finishing {
  readonly counters: readonly Counter[];
  /** The words by which a passage is found; `beside` has the agent's passages before and after it. */
  readonly passageWords: (passage: Passage, beside: readonly Passage[]) => PassageWords;
  readonly chunkWords: (chunk: {
    readonly title: string | null;
    readonly idx: number;
    readonly sourceId: string;
    readonly place: ChunkPlace;
    readonly text: string;
  }) => {
    readonly title: string;
    readonly words: string;
  };
  /** The home of the backed-up node, and where it is now. */
  readonly move: { readonly nodeId: string; readonly from: string; readonly to: string } | null;
}
