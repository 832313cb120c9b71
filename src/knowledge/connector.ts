/** An item of a source, before it is read. */
export interface Item {
  /** Its name in the source: a path or a key. At most MAX_SOURCE_ID bytes. */
  readonly sourceId: string;
  /** Changes whenever the content may have changed. */
  readonly version: string;
  readonly size: number;
  /** When it last changed, if the listing says so. */
  readonly updatedAt: number | null;
  /** The content type, if the source gives one; otherwise the name decides. */
  readonly contentType?: string | null;
}

/** What a connector read. Unknown fields are null and come from the content, or from the time of the sync. */
export interface RawDocument {
  readonly bytes: Buffer;
  /** The version of the bytes, if it is not the listed one. */
  readonly version?: string;
  /** Overrides the title from the content and the name. */
  readonly title?: string | null;
  readonly contentType?: string | null;
  readonly author: string | null;
  readonly url: string | null;
  readonly createdAt: number | null;
  readonly updatedAt: number | null;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** One listing of a source. */
export interface Listing {
  /** The checkpoint of the last complete sync; null for the first one. */
  readonly checkpoint: string | null;
  readonly signal: AbortSignal;
  /** Reports a part that could not be listed: known documents below it are kept. '' is the whole source. */
  readonly onUnlisted: (prefix: string, reason: string) => void;
}

/** A configured source. Its errors are shown and stored, so they never contain credentials. */
export interface Connector {
  /** `type:name`. */
  readonly source: string;
  readonly tags: readonly string[];
  readonly maxBytes: number;
  /** Lists all current items in batches. Throws if the source cannot be reached at all. */
  list(listing: Listing): AsyncIterable<readonly Item[]>;
  /** Returns null if the item no longer exists. */
  read(item: Item): Promise<RawDocument | null>;
  /** The checkpoint for the next listing, once this one is complete. */
  checkpoint(): string | null;
  /**
   * Calls back when something may have changed, until it is stopped. Absent if the source cannot be watched or
   * watching is off.
   */
  watch?(onChange: () => void): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

/** The longest key that both database engines can index. */
export const MAX_SOURCE_ID = 1024;
