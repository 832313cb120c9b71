import type { ChunkId, DocumentId } from './ids.ts';

export interface Source {
  /** `type:name`. */
  readonly name: string;
  /** How the last sync ended. Stays `syncing` after a sync that crashed. */
  readonly state: 'syncing' | 'synced' | 'failed';
  /** Where the connector starts the next sync. Never contains credentials. */
  readonly checkpoint: string | null;
  readonly notes: string | null;
  readonly startedAt: number | null;
  /** When a sync last completed. */
  readonly syncedAt: number | null;
}

export interface Document {
  readonly id: DocumentId;
  readonly source: string;
  /** Its name in the source: a path or a key. */
  readonly sourceId: string;
  /** Equal versions mean unchanged content and settings, so the document is not read again. */
  readonly version: string;
  /** Hash of everything that the source says about it. */
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

/** A document that could not be read. It is not retried until its version changes. */
export interface SkippedDocument {
  readonly source: string;
  readonly sourceId: string;
  readonly version: string;
  readonly reason: string;
  readonly at: number;
}

/** Where a chunk is in its document: the headings above it and its lines in the body, from 1. */
export interface ChunkPlace {
  readonly headings?: readonly string[];
  readonly from?: number | null;
  readonly to?: number | null;
}

export interface Chunk {
  readonly id: ChunkId;
  readonly documentId: DocumentId;
  /** Index in the document, from 0. */
  readonly idx: number;
  /** Hash of everything it is found by. A vector with another hash is stale. */
  readonly hash: string;
  readonly place: ChunkPlace;
  readonly text: string;
}
