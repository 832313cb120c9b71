/** A document as Context Harness stores it: times are seconds, `body` is text whatever the type of the file. */
export interface OldDocument {
  readonly source_id: string;
  readonly source_url: string | null;
  readonly title: string | null;
  readonly author: string | null;
  readonly created_at: number;
  readonly updated_at: number;
  readonly content_type: string;
  readonly body: string;
  readonly metadata_json: string;
}

export interface OldListing extends Pick<OldDocument, 'source_id' | 'updated_at' | 'content_type'> {
  readonly size: number;
}

/** A store of Context Harness, opened for reading only. */
export interface OldStore {
  sources(): readonly { readonly source: string; readonly documents: number }[];
  /** Ordered by `source_id`, which a page starts after. */
  list(page: { readonly source: string; readonly after: string; readonly limit: number }): readonly OldListing[];
  read(document: { readonly source: string; readonly sourceId: string }): OldDocument | null;
  close(): void;
}
