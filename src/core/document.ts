import type { ChunkId, DocumentId } from './ids.ts';

export interface Source {
  /** `type:name`. */
  readonly name: string;
  /** How its last sync ended; `syncing` also after a sync that died. */
  readonly state: 'syncing' | 'synced' | 'failed';
  /** What its connector starts the next sync from. Never credentials. */
  readonly checkpoint: string | null;
  readonly notes: string | null;
  readonly startedAt: number | null;
  /** When a sync last reached its end. */
  readonly syncedAt: number | null;
}

export interface Document {
  readonly id: DocumentId;
  readonly source: string;
  /** Its name in its source: a path, a key. */
  readonly sourceId: string;
  /** Equal versions mean unchanged content and settings; nothing is read then. */
  readonly version: string;
  /** Of everything that its source says about it. */
  readonly hash: string;
  readonly contentType: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly indexedAt: number;
  readonly title: string | null;
  readonly author: string | null;
  readonly url: string | null;
  readonly tags: readonly string[];
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly body: string;
}

/** A document that could not be read. It is not tried again until its version changes. */
export interface SkippedDocument {
  readonly source: string;
  readonly sourceId: string;
  readonly version: string;
  readonly reason: string;
  readonly at: number;
}

/** Where in its document a chunk is: headings above it, and lines of the body, from 1. */
export interface ChunkPlace {
  readonly headings?: readonly string[];
  readonly from?: number | null;
  readonly to?: number | null;
}

export interface Chunk {
  readonly id: ChunkId;
  readonly documentId: DocumentId;
  /** Its number in its document, from 0. */
  readonly idx: number;
  /** Of everything that it is found by; a vector with another hash is stale. */
  readonly hash: string;
  readonly place: ChunkPlace;
  readonly text: string;
}
