/**
 * The knowledge base as everybody else sees it: tools, REST, personas and scripts. The fields are seed 004's, and so are
 * their names; times are ISO 8601 in UTC.
 */
export interface Knowledge {
  search(request: SearchRequest): Promise<{ readonly results: readonly SearchResult[] }>;
  /** Throws `not_found`. */
  get(id: string): Promise<KnowledgeDocument>;
  sources(): Promise<{ readonly sources: readonly KnowledgeSource[] }>;
}

export const SEARCH_MODES = ['keyword', 'semantic', 'hybrid'] as const;
export type SearchMode = (typeof SEARCH_MODES)[number];

export interface SearchRequest {
  readonly query: string;
  /** What the configuration says where it is not given; `embeddings_disabled` where it cannot be had. */
  readonly mode?: SearchMode | undefined;
  readonly limit?: number | undefined;
  readonly filters?: SearchFilters | undefined;
  /** Say what each score is made of. */
  readonly explain?: boolean | undefined;
}

export interface SearchFilters {
  /** `type:name`, or the bare name. */
  readonly source?: string | undefined;
  /** All of them. */
  readonly tags?: readonly string[] | undefined;
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}

export interface SearchResult {
  /** The document's. */
  readonly id: string;
  /** 0 to 1. */
  readonly score: number;
  readonly title: string | null;
  readonly source: string;
  readonly source_id: string;
  readonly updated_at: string;
  readonly snippet: string;
  readonly source_url: string | null;
  /** Only where it was asked for. */
  readonly explain?: SearchExplanation;
}

/** What a score is made of: the chunk that earned it, and what each kind of search gave it. */
export interface SearchExplanation {
  readonly mode: SearchMode;
  /** `from` and `to` are lines of the document's body, from 1. */
  readonly chunk: {
    readonly index: number;
    readonly headings: readonly string[];
    readonly from: number | null;
    readonly to: number | null;
  };
  /** BM25 as the index has it, and its share of the best one's; null: it has none of the words. */
  readonly keyword: { readonly rank: number; readonly bm25: number; readonly score: number } | null;
  /** The cosine to the query, and the share of the best one's, after what came first was taken into account. */
  readonly semantic: { readonly rank: number; readonly cosine: number; readonly score: number } | null;
  /** The weight of meaning against words, where both count. */
  readonly alpha: number | null;
}

export interface KnowledgeDocument {
  readonly id: string;
  readonly source: string;
  readonly source_id: string;
  readonly source_url: string | null;
  readonly title: string | null;
  readonly author: string | null;
  readonly created_at: string;
  readonly updated_at: string;
  readonly content_type: string;
  readonly body: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly chunks: readonly { readonly index: number; readonly text: string }[];
}

export interface KnowledgeSource {
  readonly name: string;
  readonly configured: boolean;
  readonly healthy: boolean;
  readonly notes: string | null;
}
