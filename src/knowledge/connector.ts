/** Something that a source has, before it is read. */
export interface Item {
  /** What the source calls it: a path, a key. At most MAX_SOURCE_ID bytes. */
  readonly sourceId: string;
  /** Another one whenever the content may have changed. */
  readonly version: string;
  readonly size: number;
  /** When it last changed, where the listing tells. */
  readonly updatedAt: number | null;
  /** How it is read, where the source says so; otherwise its name decides. */
  readonly contentType?: string | null;
}

/** What a connector read. What it does not know is null, and the content or the time of the sync says. */
export interface RawDocument {
  readonly bytes: Buffer;
  /** Where the bytes are not exactly those that were listed, theirs. */
  readonly version?: string;
  /** In the place of what the content and the name say. */
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
  /** What the last complete sync left; null for the first one. */
  readonly checkpoint: string | null;
  readonly signal: AbortSignal;
  /** A part that could not be listed: what is known below it is kept. '' is the whole source. */
  readonly onUnlisted: (prefix: string, reason: string) => void;
}

/** A configured source. Its errors are told to people and stored, so none has credentials in it. */
export interface Connector {
  /** `type:name`. */
  readonly source: string;
  readonly tags: readonly string[];
  readonly maxBytes: number;
  /** Everything that there is now, some at a time. Throws when the source cannot be reached at all. */
  list(listing: Listing): AsyncIterable<readonly Item[]>;
  /** Null: it is gone meanwhile. */
  read(item: Item): Promise<RawDocument | null>;
  /** What the next listing gets as its checkpoint, once this one is done. */
  checkpoint(): string | null;
  /** Calls back when something may have changed, until it is stopped; null where nobody can tell or nobody asked. */
  watch?(onChange: () => void): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

/** What both engines can have in an index. */
export const MAX_SOURCE_ID = 1024;
