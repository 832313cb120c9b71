/**
 * The knowledge base as tools, REST, personas and scripts see it. Fields and their names come from seed 004; times
 * are ISO 8601 in UTC.
 */
export interface Knowledge {
  search(request: SearchRequest): Promise<SearchAnswer>;
  /** By id, the last 6 or more characters of it, or path. Throws `not_found`. */
  get(id: string): Promise<KnowledgeDocument>;
  sources(): Promise<{ readonly sources: readonly KnowledgeSource[] }>;
}

export const SEARCH_MODES = ['keyword', 'semantic', 'hybrid'] as const;
export type SearchMode = (typeof SEARCH_MODES)[number];

export interface SearchRequest {
  readonly query: string;
  /** Defaults to the configured mode. Throws `embeddings_disabled` if it needs embeddings and they are disabled. */
  readonly mode?: SearchMode | undefined;
  readonly limit?: number | undefined;
  readonly filters?: SearchFilters | undefined;
  /** Include what each score is made of. */
  readonly explain?: boolean | undefined;
}

export interface SearchFilters {
  /** `type:name`, or the bare name. */
  readonly source?: string | undefined;
  /** Documents must have all of them. */
  readonly tags?: readonly string[] | undefined;
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}

export interface SearchResult {
  /** The document's id. */
  readonly id: string;
  /** 0 to 1, and it means the same for every query of one mode: how much of the query the document has. */
  readonly score: number;
  readonly title: string | null;
  readonly source: string;
  readonly source_id: string;
  readonly updated_at: string;
  readonly snippet: string;
  readonly source_url: string | null;
  /** Only if it was requested. */
  readonly explain?: SearchExplanation;
}

/** What a score is made of: the chunk that earned it, and the contribution of each kind of search. */
export interface SearchExplanation {
  readonly mode: SearchMode;
  /** The words of the snippet that match the query, as they are written there. */
  readonly matched: readonly string[];
  /** `from` and `to` are line numbers in the document's body, from 1. */
  readonly chunk: {
    readonly index: number;
    readonly headings: readonly string[];
    readonly from: number | null;
    readonly to: number | null;
  };
  /** BM25, and how much of the query's rarity that is: 1 for every word once; null if no word matched. */
  readonly keyword: { readonly rank: number; readonly bm25: number; readonly score: number } | null;
  /** The cosine to the query, and how far that is from unrelated texts (0) to the same text (1). */
  readonly semantic: { readonly rank: number; readonly cosine: number; readonly score: number } | null;
  /** The weight of semantic against keyword search; null unless both count. */
  readonly alpha: number | null;
  /** Whether the query's vector was moved towards the first results, and the order is that of the moved one. */
  readonly feedback: boolean;
  /** What the reranking model gives it, 0 to 1; null if it was not reranked. */
  readonly rerank: number | null;
}

export interface SearchAnswer {
  readonly results: readonly SearchResult[];
  /** The query with the words that were probably meant, if it has words that no document has. */
  readonly did_you_mean?: string;
  /** If results were reranked: the model, how many documents it read, and how long it took. */
  readonly rerank?: { readonly model: string; readonly documents: number; readonly ms: number };
  /** Why the answer is not what was asked for. */
  readonly warning?: string;
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
