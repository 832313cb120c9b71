import type { Chunk, Document, SkippedDocument, Source } from '../core/document.ts';
import type { ChunkId, DocumentId } from '../core/ids.ts';
import type * as view from './views.ts';

/** The knowledge base: sources, documents, their chunks and vectors. */
export interface Documents {
  getDocument(p: { id: DocumentId }): Promise<Document | null>;
  getDocumentOf(p: view.SourceKey): Promise<Document | null>;
  getDocumentHash(p: view.SourceKey): Promise<string | null>;
  /** By source and name; `source` '' for all. */
  listDocuments(p: { source: string; afterSource: string; afterId: string; limit: number }): Promise<Document[]>;
  /** What a sync compares, by name. */
  listVersions(p: { source: string }): Promise<Pick<Document, 'sourceId' | 'version'>[]>;
  listSourceCounts(): Promise<{ readonly source: string; readonly documents: number }[]>;
  setDocumentVersion(p: view.SourceKey & { version: string }): Promise<void>;
  /** Writes documents with their chunks, each in place of the one of the same source and name, whose id it keeps. */
  replaceDocuments(documents: readonly view.WholeDocument[]): Promise<DocumentId[]>;
  tryDeleteDocument(p: view.SourceKey): Promise<boolean>;
  putSkipped(skipped: SkippedDocument): Promise<void>;
  tryDeleteSkipped(p: view.SourceKey): Promise<boolean>;
  /** By name. */
  listSkipped(p: { source: string }): Promise<SkippedDocument[]>;
  getSource(p: { name: string }): Promise<Source | null>;
  /** By name. */
  listSources(): Promise<Source[]>;
  putSource(source: Source): Promise<void>;
  tryDeleteSource(p: { name: string }): Promise<boolean>;
  /** In the order of the document. */
  listChunks(p: { documentId: DocumentId }): Promise<Chunk[]>;
  countChunks(): Promise<number>;
  /** Words of the index after `after`, in order. */
  listTerms(p: { after: string; limit: number }): Promise<string[]>;
  /** Those that no chunk has. */
  listUnknownWords(p: { words: readonly string[] }): Promise<string[]>;
  /** Chunks with any of the words, best first (BM25). */
  findChunks(p: view.ChunkWords & { limit: number; filter?: view.ChunkFilter }): Promise<view.FoundChunk[]>;
  /** The keys of all chunks that a filter lets through. */
  listChunkKeys(p: { filter: view.ChunkFilter }): Promise<ChunkId[]>;
  /** Those that still exist, in no order. */
  listChunkViews(p: { ids: readonly ChunkId[] }): Promise<view.ChunkView[]>;
  /** Returns how many were stored: those whose chunks are unchanged. */
  putVectors(p: { model: string; dimension: number; vectors: readonly view.NewVector[] }): Promise<number>;
  /** Rises with every vector that is stored. */
  getVectorState(): Promise<number>;
  /** In the order in which they were stored. */
  listVectors(p: { model: string; after: number; limit: number }): Promise<view.StoredVector[]>;
  getVectors(p: { ids: readonly ChunkId[]; model: string }): Promise<Pick<view.StoredVector, 'chunkId' | 'vector'>[]>;
  /** Chunks without a vector of the model, by key. */
  listUnembedded(p: { model: string; after: number; limit: number }): Promise<view.UnembeddedChunk[]>;
  listVectorModels(): Promise<{ readonly model: string; readonly dimension: number; readonly vectors: number }[]>;
  deleteVectors(): Promise<number>;
}
