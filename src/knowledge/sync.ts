import { SubstratError } from '../core/errors.ts';
import type { DocumentRow, NewChunk, Store } from '../store/store.ts';
import type { Connector, Item } from './connector.ts';
import { formatOf } from './extract/format.ts';
import { type Indexer, indexDocument, recipeOf } from './index-document.ts';
import { Lanes } from './lanes.ts';

export interface SyncOptions {
  readonly store: Store;
  readonly connector: Connector;
  readonly indexer: Indexer;
  readonly signal: AbortSignal;
  /** Reads everything again, whatever its version. */
  readonly full?: boolean;
  /** Looks and counts; changes nothing. */
  readonly dryRun?: boolean;
  /** Only what changed from `since` to before `until`, as far as the source tells without being read. */
  readonly since?: number | null;
  readonly until?: number | null;
  /** At most so many documents. */
  readonly limit?: number | null;
  readonly onProgress?: (progress: SyncCounts) => void;
  readonly onSkip?: (sourceId: string, reason: string) => void;
}

export interface SyncCounts {
  /** Everything that the source has. */
  seen: number;
  unchanged: number;
  indexed: number;
  deleted: number;
  /** Could not be read; of these, `failed` are new in this sync. */
  skipped: number;
  failed: number;
  chunks: number;
}

/** Deletions that share a transaction. */
const DELETE_BATCH = 50;
const MOST_REASON = 500;

/**
 * Brings the index of one source up to date. Which documents are done stands in their versions, so whatever ends this on the
 * way, the next sync goes on from there; each document is replaced in one transaction of its own.
 */
export async function syncSource(options: SyncOptions): Promise<SyncCounts> {
  const { store, connector, indexer, signal, dryRun = false } = options;
  const name = connector.source;
  const startedAt = indexer.clock();
  const before = await store.read((tx) => tx.getSource({ name }));
  const checkpoint = before?.checkpoint ?? null;
  const put = (change: {
    state: 'syncing' | 'synced' | 'failed';
    notes: string | null;
    checkpoint?: string | null;
    synced_at?: number;
  }) => {
    const row = { name, checkpoint, started_at: startedAt, synced_at: before?.synced_at ?? null, ...change };
    return dryRun ? Promise.resolve() : store.write(async (tx) => void (await tx.putSource(row)));
  };
  await put({ state: 'syncing', notes: before?.notes ?? null });
  try {
    const { counts, complete, unlisted } = await run(options, checkpoint);
    const notes = notesOf(counts, unlisted);
    await put(
      complete
        ? { state: 'synced', notes, checkpoint: connector.checkpoint(), synced_at: indexer.clock() }
        : { state: 'synced', notes },
    );
    return counts;
  } catch (error) {
    const reason = signal.aborted ? 'the last sync was interrupted' : (error as Error).message;
    await put({ state: 'failed', notes: reason.slice(0, MOST_REASON) }).catch(() => {});
    throw error;
  }
}

async function run(options: SyncOptions, checkpoint: string | null) {
  const { store, connector, indexer, signal, dryRun = false, full = false, limit = null } = options;
  const source = connector.source;
  const recipe = recipeOf(indexer.limits);
  const [known, skipped] = await store.read(async (tx) => [
    await tx.listVersions({ source }),
    await tx.listSkipped({ source }),
  ]);
  const versions = new Map(known.map((row) => [row.source_id, row.version]));
  const unreadable = new Map(skipped.map((row) => [row.source_id, row.version]));
  const unlisted: { prefix: string; reason: string }[] = [];
  const counts: SyncCounts = { seen: 0, unchanged: 0, indexed: 0, deleted: 0, skipped: 0, failed: 0, chunks: 0 };
  const progress = () => options.onProgress?.(counts);
  const isPartial = limit !== null || (options.since ?? null) !== null || (options.until ?? null) !== null;
  let wanted = 0;

  const skip = async (item: Item, version: string, reason: string): Promise<void> => {
    counts.skipped += 1;
    counts.failed += 1;
    options.onSkip?.(item.sourceId, reason);
    const row = {
      source,
      source_id: item.sourceId,
      version,
      reason: reason.slice(0, MOST_REASON),
      at: indexer.clock(),
    };
    await store.write(async (tx) => {
      await tx.putSkipped(row);
      await tx.deleteDocument({ source, sourceId: item.sourceId });
    });
  };
  const index = async (item: Item, version: string, wasSkipped: boolean): Promise<void> => {
    signal.throwIfAborted();
    const format = formatOf(item.sourceId);
    if (!format) return;
    try {
      if (item.size > connector.maxBytes) throw tooLarge(item.size);
      const raw = await connector.read(item);
      if (!raw) return;
      const { row, chunks } = await indexDocument(indexer, { source, item, raw, format, tags: connector.tags });
      await write(row, chunks, wasSkipped);
    } catch (error) {
      if (signal.aborted || (error as SubstratError).code === 'store') throw error;
      await skip(item, version, (error as Error).message);
    }
    progress();
  };
  const write = async (row: DocumentRow, chunks: () => NewChunk[], wasSkipped: boolean): Promise<void> => {
    const { source_id: sourceId, version } = row;
    const old = versions.has(sourceId) ? await store.read((tx) => tx.getDocumentHash({ source, sourceId })) : null;
    if (old?.hash === row.hash) {
      counts.unchanged += 1;
      await store.write((tx) => tx.setDocumentVersion({ source, sourceId, version }));
      return;
    }
    const made = chunks();
    await store.write(async (tx) => {
      await tx.replaceDocument(row, made);
      if (wasSkipped) await tx.deleteSkipped({ source, sourceId });
    });
    counts.indexed += 1;
    counts.chunks += made.length;
  };

  const lanes = new Lanes();
  const listing = {
    checkpoint,
    signal,
    onUnlisted: (prefix: string, reason: string) => void unlisted.push({ prefix, reason }),
  };
  const gone = new Set([...versions.keys(), ...unreadable.keys()]);
  for await (const items of connector.list(listing)) {
    for (const item of items) {
      const { sourceId } = item;
      if (formatOf(sourceId) === null) continue;
      counts.seen += 1;
      gone.delete(sourceId);
      const version = `${item.version}|${recipe}`;
      if (!full && versions.get(sourceId) === version) counts.unchanged += 1;
      else if (!full && unreadable.get(sourceId) === version) counts.skipped += 1;
      else if (isOutside(item, options) || (limit !== null && wanted >= limit)) continue;
      else {
        wanted += 1;
        if (dryRun) counts.indexed += 1;
        else await lanes.add(item.size, () => index(item, version, unreadable.has(sourceId)));
      }
    }
    progress();
  }
  await lanes.finish();
  signal.throwIfAborted();

  for (const { prefix, reason } of unlisted) options.onSkip?.(prefix, reason);
  const deleted = isPartial ? [] : [...gone].filter((id) => !unlisted.some(({ prefix }) => id.startsWith(prefix)));
  for (let at = 0; at < deleted.length; at += DELETE_BATCH) {
    const batch = deleted.slice(at, at + DELETE_BATCH);
    counts.deleted += batch.filter((id) => versions.has(id)).length;
    if (dryRun) continue;
    signal.throwIfAborted();
    await store.write(async (tx) => {
      for (const sourceId of batch) {
        await tx.deleteDocument({ source, sourceId });
        await tx.deleteSkipped({ source, sourceId });
      }
    });
    progress();
  }
  return { counts, unlisted, complete: !isPartial && unlisted.length === 0 };
}

function isOutside({ updatedAt }: Item, { since = null, until = null }: SyncOptions): boolean {
  if (updatedAt === null) return false;
  return (since !== null && updatedAt < since) || (until !== null && updatedAt >= until);
}

function notesOf({ skipped }: SyncCounts, unlisted: readonly { prefix: string; reason: string }[]): string | null {
  const notes = unlisted.slice(0, 3).map(({ prefix, reason }) => `${prefix || 'the source'}: ${reason}`);
  if (skipped > 0) notes.unshift(`${skipped} skipped`);
  return notes.length === 0 ? null : notes.join('; ').slice(0, MOST_REASON);
}

function tooLarge(size: number): SubstratError {
  return new SubstratError('too_large', `it has ${size} bytes, more than max_file_mb`);
}
