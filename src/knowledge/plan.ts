import type { Store } from '../store/store.ts';
import type { Connector, Item } from './connector.ts';
import { formatOf, formatOfType } from './extract/format.ts';

/** Which part of a source to sync; by default all of it. */
export interface SyncScope {
  /** Reads every document again, whatever its version. */
  readonly full?: boolean;
  /** Only documents changed from `since` up to `until` (exclusive), as far as the listing tells. */
  readonly since?: number | null;
  readonly until?: number | null;
  /** Maximum number of documents. */
  readonly limit?: number | null;
}

/** What there is to do. */
export interface SyncPlan {
  readonly pending: readonly PendingItem[];
  readonly deleted: readonly string[];
  readonly seen: number;
  readonly unchanged: number;
  /** Documents that could not be read before and have not changed since. */
  readonly skipped: number;
  /** The parts of the source that could not be listed. */
  readonly unlisted: readonly { readonly prefix: string; readonly reason: string }[];
  /** Whether it covers the whole source, so that its checkpoint can start the next sync. */
  readonly complete: boolean;
}

export interface PendingItem {
  readonly item: Item;
  readonly version: string;
  readonly isKnown: boolean;
  readonly wasSkipped: boolean;
}

interface PlanOptions {
  readonly store: Store;
  readonly connector: Connector;
  readonly checkpoint: string | null;
  readonly recipe: string;
  readonly scope: SyncScope;
  readonly signal: AbortSignal;
  readonly onSeen: (seen: number) => void;
  /** Called with each item of a kind that has no text. */
  readonly onOther?: ((sourceId: string) => void) | undefined;
}

/** Compares the source's listing with the index. Reads no documents. */
export async function planSync(options: PlanOptions): Promise<SyncPlan> {
  const { store, connector, checkpoint, recipe, scope, signal } = options;
  const { source } = connector;
  const { full = false, since = null, until = null, limit = null } = scope;
  const [known, unread] = await store.read(async (tx) => [
    await tx.documents.listVersions({ source }),
    await tx.documents.listSkipped({ source }),
  ]);
  const versions = toMap(known);
  const unreadable = toMap(unread);
  const pending: PendingItem[] = [];
  const unlisted: { prefix: string; reason: string }[] = [];
  const onUnlisted = (prefix: string, reason: string) => void unlisted.push({ prefix, reason });
  let [seen, unchanged, skipped] = [0, 0, 0];

  const suffix = `|${recipe}`;
  for await (const items of connector.list({ checkpoint, signal, onUnlisted })) {
    for (const item of items) {
      const { sourceId, contentType } = item;
      if (formatOf(sourceId) === null && !(contentType && formatOfType(contentType))) {
        options.onOther?.(sourceId);
        continue;
      }
      seen += 1;
      const before = versions.get(sourceId);
      const failedBefore = unreadable.size === 0 ? undefined : unreadable.get(sourceId);
      if (before) before.seen = true;
      if (failedBefore) failedBefore.seen = true;
      if (!full && isSame(before, item.version, suffix)) unchanged += 1;
      else if (!full && isSame(failedBefore, item.version, suffix)) skipped += 1;
      else if (!isOutside(item, since, until) && pending.length < (limit ?? Number.POSITIVE_INFINITY)) {
        const version = item.version + suffix;
        pending.push({ item, version, isKnown: before !== undefined, wasSkipped: failedBefore !== undefined });
      }
    }
    options.onSeen(seen);
  }
  const isPartial = limit !== null || since !== null || until !== null;
  const gone = isPartial ? [] : [...new Set([...unseen(versions), ...unseen(unreadable)])];
  const deleted = gone.filter((id) => !unlisted.some(({ prefix }) => id.startsWith(prefix)));
  return { pending, deleted, seen, unchanged, skipped, unlisted, complete: !isPartial && unlisted.length === 0 };
}

/** What the last sync knows about an item. Small, because ten thousand of them are compared at once. */
interface Known {
  readonly version: string;
  seen: boolean;
}

function toMap(rows: readonly { readonly sourceId: string; readonly version: string }[]): Map<string, Known> {
  const map = new Map<string, Known>();
  for (const { sourceId, version } of rows) map.set(sourceId, { version, seen: false });
  return map;
}

function isSame(known: Known | undefined, version: string, suffix: string): boolean {
  return (
    known !== undefined &&
    known.version.length === version.length + suffix.length &&
    known.version.startsWith(version) &&
    known.version.endsWith(suffix)
  );
}

/** Known items that the source no longer has. */
function unseen(map: ReadonlyMap<string, Known>): string[] {
  return [...map].filter(([, { seen }]) => !seen).map(([id]) => id);
}

function isOutside({ updatedAt }: Item, since: number | null, until: number | null): boolean {
  if (updatedAt === null) return false;
  return (since !== null && updatedAt < since) || (until !== null && updatedAt >= until);
}
