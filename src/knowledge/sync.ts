import type { Document, Source } from '../core/document.ts';
import { SubstratError } from '../core/errors.ts';
import type { NewChunk, Store } from '../store/store.ts';
import type { Connector } from './connector.ts';
import { type Format, formatOf } from './extract/format.ts';
import { type Indexer, indexDocument, recipeOf } from './index-document.ts';
import { Lanes } from './lanes.ts';
import { type PendingItem, planSync, type SyncPlan, type SyncScope } from './plan.ts';
import { DocumentWriter } from './writer.ts';

export interface SyncOptions {
  readonly store: Store;
  readonly connector: Connector;
  readonly indexer: Indexer;
  readonly scope: SyncScope;
  /** Only counts; changes nothing. */
  readonly dryRun: boolean;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: SyncProgress) => void;
  readonly onSkip: (sourceId: string, reason: string) => void;
  /** Called with each item of a kind that has no text, such as an image. It is not counted. */
  readonly onOther?: ((sourceId: string) => void) | undefined;
}

export interface SyncCounts {
  /** All items of the source. */
  seen: number;
  unchanged: number;
  indexed: number;
  chunks: number;
  deleted: number;
  /** Could not be read, now or before. */
  skipped: number;
}

export interface SyncProgress extends SyncCounts {
  /** Progress of the planned work; `total` is absent while the source is being listed. */
  readonly done: number;
  readonly total: number | null;
}

/** Deletions per transaction. */
const DELETE_BATCH = 50;
const MOST_REASON = 500;

/**
 * Updates the index of one source. The stored versions show which documents are done, so an interrupted sync resumes
 * where it stopped. Each document is replaced in one transaction.
 */
export async function syncSource(options: SyncOptions): Promise<SyncCounts> {
  const { store, connector, indexer, signal, dryRun } = options;
  const name = connector.source;
  const before = await store.read((tx) => tx.documents.getSource({ name }));
  const source: Source = {
    name,
    state: 'syncing',
    checkpoint: before?.checkpoint ?? null,
    notes: before?.notes ?? null,
    startedAt: indexer.clock(),
    syncedAt: before?.syncedAt ?? null,
  };
  const put = async (change: Partial<Source>): Promise<void> => {
    if (!dryRun) await store.write((tx) => tx.documents.putSource({ ...source, ...change }), `source ${name}`);
  };
  await put({});
  try {
    const { counts, plan } = await new Sync(options).run(source.checkpoint);
    const ended = plan.complete ? { checkpoint: connector.checkpoint(), syncedAt: indexer.clock() } : {};
    await put({ state: 'synced', notes: notesOf(counts, plan), ...ended });
    return counts;
  } catch (error) {
    const reason = signal.aborted ? 'the last sync was interrupted' : (error as Error).message;
    await put({ state: 'failed', notes: reason.slice(0, MOST_REASON) }).catch(() => {});
    throw error;
  }
}

class Sync {
  readonly #options: SyncOptions;
  readonly #source: string;
  readonly #counts: SyncCounts = { seen: 0, unchanged: 0, indexed: 0, chunks: 0, deleted: 0, skipped: 0 };
  readonly #writer: DocumentWriter;
  #done = 0;
  #total: number | null = null;

  constructor(options: SyncOptions) {
    this.#options = options;
    this.#source = options.connector.source;
    this.#writer = new DocumentWriter(options.store);
  }

  async run(checkpoint: string | null): Promise<{ counts: SyncCounts; plan: SyncPlan }> {
    const { store, connector, indexer, scope, signal, dryRun, onOther } = this.#options;
    const onSeen = (seen: number) => this.#tell({ seen });
    const recipe = recipeOf(indexer.limits);
    const plan = await planSync({ store, connector, checkpoint, recipe, scope, signal, onSeen, onOther });
    this.#total = plan.pending.length + plan.deleted.length;
    this.#tell({ seen: plan.seen, unchanged: plan.unchanged, skipped: plan.skipped });
    for (const { prefix, reason } of plan.unlisted) this.#options.onSkip(prefix, reason);
    if (dryRun) this.#tell({ indexed: plan.pending.length, deleted: plan.deleted.length });
    else {
      const lanes = new Lanes();
      for (const pending of plan.pending) await lanes.add(pending.item.size, () => this.#index(pending));
      await lanes.finish();
      await this.#delete(plan.deleted);
    }
    return { counts: this.#counts, plan };
  }

  async #index(pending: PendingItem): Promise<void> {
    const { connector, signal, indexer } = this.#options;
    const { item } = pending;
    signal.throwIfAborted();
    try {
      if (item.size > connector.maxBytes) {
        throw new SubstratError('too_large', `it has ${item.size} bytes, more than max_file_mb`);
      }
      const raw = await connector.read(item);
      if (raw) {
        const document = {
          source: this.#source,
          item,
          raw,
          format: formatOf(item.sourceId) as Format,
          tags: connector.tags,
        };
        const { row, chunks } = await indexDocument(indexer, document);
        await this.#write(row, chunks, pending);
      }
    } catch (error) {
      if (signal.aborted || (error as SubstratError).code === 'store') throw error;
      await this.#skip(pending, (error as Error).message);
    }
    this.#done += 1;
    this.#tell({});
  }

  async #write(row: Document, chunks: () => NewChunk[], { isKnown, wasSkipped }: PendingItem): Promise<void> {
    const { store, scope } = this.#options;
    const { source, sourceId, version } = row;
    const old =
      isKnown && !scope.full ? await store.read((tx) => tx.documents.getDocumentHash({ source, sourceId })) : null;
    if (old === row.hash) {
      await store.write((tx) => tx.documents.setDocumentVersion({ source, sourceId, version }), `source ${source}`);
      this.#counts.unchanged += 1;
      return;
    }
    const made = chunks();
    await this.#writer.write({ row, chunks: made, wasSkipped });
    this.#counts.indexed += 1;
    this.#counts.chunks += made.length;
  }

  /** It is no longer a document and is not retried until it changes. */
  async #skip({ item, version }: PendingItem, reason: string): Promise<void> {
    const { store, indexer, onSkip } = this.#options;
    const source = this.#source;
    const { sourceId } = item;
    const row = { source, sourceId, version, reason: reason.slice(0, MOST_REASON), at: indexer.clock() };
    await store.write(async (tx) => {
      await tx.documents.putSkipped(row);
      await tx.documents.tryDeleteDocument({ source, sourceId });
    }, `source ${source}`);
    this.#counts.skipped += 1;
    onSkip(sourceId, row.reason);
  }

  async #delete(ids: readonly string[]): Promise<void> {
    const { store, signal } = this.#options;
    const source = this.#source;
    for (let at = 0; at < ids.length; at += DELETE_BATCH) {
      signal.throwIfAborted();
      const batch = ids.slice(at, at + DELETE_BATCH);
      const removed = await store.write(async (tx) => {
        let documents = 0;
        for (const sourceId of batch) {
          if (await tx.documents.tryDeleteDocument({ source, sourceId })) documents += 1;
          await tx.documents.tryDeleteSkipped({ source, sourceId });
        }
        return documents;
      }, `source ${source}`);
      this.#done += batch.length;
      this.#tell({ deleted: this.#counts.deleted + removed });
    }
  }

  #tell(change: Partial<SyncCounts>): void {
    Object.assign(this.#counts, change);
    this.#options.onProgress({ ...this.#counts, done: this.#done, total: this.#total });
  }
}

function notesOf({ skipped }: SyncCounts, { unlisted }: SyncPlan): string | null {
  const notes = unlisted.slice(0, 3).map(({ prefix, reason }) => `${prefix || 'the source'}: ${reason}`);
  if (skipped > 0) notes.unshift(`${skipped} skipped`);
  return notes.length === 0 ? null : notes.join('; ').slice(0, MOST_REASON);
}
