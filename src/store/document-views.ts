import type { Chunk, Document } from '../core/document.ts';
import type { ChunkId } from '../core/ids.ts';

/** What to look for, as search makes it of a query: stems, and stems that follow each other. */
export interface ChunkWords {
  readonly words: readonly string[];
  readonly phrases?: readonly (readonly string[])[];
}

/** Best first; a higher score is better. */
export interface FoundChunk {
  readonly chunkId: ChunkId;
  readonly score: number;
  /** The score of a chunk of mean length that has every word and phrase once. With it, scores of queries compare. */
  readonly most: number;
}

/** Which documents' chunks; null and an empty list are "any". Times are from `since` to before `until`. */
export interface ChunkFilter {
  /** `type:name`, or the bare name. */
  readonly source: string | null;
  /** All of them. */
  readonly tags: readonly string[];
  readonly since: number | null;
  readonly until: number | null;
}

/** A chunk as a result shows it. */
export interface ChunkView extends Omit<Chunk, 'hash'> {
  readonly title: string | null;
  readonly source: string;
  readonly sourceId: string;
  readonly url: string | null;
  readonly updatedAt: number;
}

/** A chunk to be stored, with the words by which it is found (src/search), spaces between them. */
export interface NewChunk extends Pick<Chunk, 'hash' | 'place' | 'text'> {
  readonly words: { readonly title: string; readonly words: string };
}

export interface WholeDocument {
  readonly document: Document;
  readonly chunks: readonly NewChunk[];
}

/** A vector to be stored: little-endian Float32 of length 1, of the chunk with that hash. */
export interface NewVector {
  readonly chunkId: ChunkId;
  readonly hash: string;
  readonly vector: Buffer;
}

export interface StoredVector {
  readonly chunkId: ChunkId;
  readonly seq: number;
  readonly vector: Buffer;
}

/** A chunk without a vector of the model, with what the vector is made of. */
export interface UnembeddedChunk extends Pick<Chunk, 'id' | 'hash' | 'place' | 'text'> {
  readonly title: string | null;
}

export interface SourceKey {
  readonly source: string;
  readonly sourceId: string;
}
