import type { Document } from '../core/document.ts';
import type { NewChunk, Store } from '../store/store.ts';

/** A document with all that belongs to it. */
export interface ReadyDocument {
  readonly row: Document;
  readonly chunks: readonly NewChunk[];
  /** It could not be read before. */
  readonly wasSkipped: boolean;
}

interface Waiting extends ReadyDocument {
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Limits of a transaction: it holds a lock (SQLite's only one, on PostgreSQL its source's), so it must be short. */
const MOST_DOCUMENTS = 256;
const MOST_CHUNKS = 1000;

/**
 * Writes the documents that are ready in one transaction, each completely or not at all. Separate transactions would
 * share a commit too, but the full-text index writes a segment for each of them.
 */
export class DocumentWriter {
  readonly #store: Store;
  readonly #waiting: Waiting[] = [];
  #isRunning = false;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Resolves when it is durable. */
  write(document: ReadyDocument): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ ...document, resolve, reject });
      if (!this.#isRunning) void this.#drain();
    });
  }

  async #drain(): Promise<void> {
    this.#isRunning = true;
    while (this.#waiting.length > 0) {
      // Documents read in the meantime join the batch.
      await new Promise((resolve) => setImmediate(resolve));
      const batch = this.#take();
      try {
        await this.#commit(batch);
        for (const { resolve } of batch) resolve();
      } catch {
        // Retry one by one, so that each document gets its own error.
        for (const document of batch) await this.#commit([document]).then(document.resolve, document.reject);
      }
    }
    this.#isRunning = false;
  }

  #take(): Waiting[] {
    let chunks = 0;
    const end = this.#waiting.findIndex((document) => {
      chunks += document.chunks.length;
      return chunks > MOST_CHUNKS;
    });
    const most = end < 0 ? this.#waiting.length : Math.max(end, 1);
    return this.#waiting.splice(0, Math.min(most, MOST_DOCUMENTS));
  }

  #commit(batch: readonly ReadyDocument[]): Promise<void> {
    const [first] = batch;
    return this.#store.write(async (tx) => {
      for (const { row, wasSkipped } of batch) {
        if (wasSkipped) await tx.documents.tryDeleteSkipped({ source: row.source, sourceId: row.sourceId });
      }
      await tx.documents.replaceDocuments(batch.map(({ row, chunks }) => ({ document: row, chunks })));
    }, `source ${first?.row.source}`);
  }
}
