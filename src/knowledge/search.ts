import { SubstratError } from '../core/errors.ts';
import type { SearchMode, SearchRequest, SearchResult } from '../core/knowledge.ts';
import { type ChunkQuery, chunkQuery, snippetOf } from '../search/search.ts';
import type { ChunkFilter, ChunkView, Store } from '../store/store.ts';
import { type Embedder, embeddingsDisabled } from './embedding.ts';
import { type Fusion, type Hit, type Merged, merge } from './merge.ts';
import { readFilter } from './search-filter.ts';
import { dot, ofLengthOne } from './vector.ts';
import type { VectorCache } from './vector-cache.ts';

/** `[retrieval]` of the configuration. */
export interface RetrievalSettings {
  /** Null: hybrid if there are vectors, otherwise keyword. */
  readonly mode: SearchMode | null;
  readonly finalLimit: number;
  /** The minimum number of chunks from each kind of search that are merged. */
  readonly candidates: number;
  readonly fusion: 'weighted' | 'rrf';
  readonly hybridAlpha: number;
}

export interface SearchDependencies {
  readonly store: Store;
  readonly settings: RetrievalSettings;
  /** Null where embeddings are disabled. */
  readonly meaning: { readonly embedder: Embedder; readonly cache: VectorCache } | null;
}

const SNIPPET = 300;
const MOST_RESULTS = 500;
const MOST_QUERY = 100_000;
/** A document is one result but may have many good chunks, so fetch this many chunks per result. */
const CHUNKS_PER_RESULT = 4;
/** The keyword list is read this many times deeper, so that semantic candidates get their keyword score too. */
const DEEPER = 5;
/** Relevance feedback: the mean of this many first results is added to the query vector. */
const FEEDBACK = 5;

/** Returns one result per document, by its best chunk, best first. */
export async function search(deps: SearchDependencies, request: SearchRequest): Promise<SearchResult[]> {
  const limit = request.limit ?? deps.settings.finalLimit;
  check(request.query, limit);
  const filter = readFilter(request.filters);
  const asked: Asked = { deps, text: request.query, words: chunkQuery(request.query), filter, limit };
  const mode = await modeOf(deps, request.mode);
  const merged = await SEARCHES[mode](asked);
  const alpha = mode === 'hybrid' ? deps.settings.hybridAlpha : null;
  const shown = await firstDocuments(asked, merged);
  return shown.map(({ view, hit }) => show(asked, view, hit, request.explain ? { mode, alpha } : null));
}

interface Asked {
  readonly deps: SearchDependencies;
  readonly text: string;
  readonly words: ChunkQuery;
  readonly filter: ChunkFilter | null;
  readonly limit: number;
}

function check(query: string, limit: number): void {
  if (typeof query !== 'string' || query.trim() === '') {
    throw new SubstratError('bad_request', 'query must not be empty.');
  }
  if (query.length > MOST_QUERY) {
    throw new SubstratError('bad_request', `query must have at most ${MOST_QUERY} characters; it has ${query.length}.`);
  }
  if (!Number.isInteger(limit) || limit < 1 || limit > MOST_RESULTS) {
    throw new SubstratError('bad_request', `limit must be a whole number from 1 to ${MOST_RESULTS}; got ${limit}.`);
  }
}

async function modeOf({ settings, meaning }: SearchDependencies, asked: SearchMode | undefined): Promise<SearchMode> {
  const mode = asked ?? settings.mode;
  if (mode === 'keyword') return mode;
  if (!meaning) {
    if (mode !== null) throw embeddingsDisabled();
    return 'keyword';
  }
  if ((await meaning.cache.size()) > 0) return mode ?? 'hybrid';
  if (mode === null) return 'keyword';
  throw new SubstratError(
    'not_configured',
    `No chunk has been embedded with the model ${meaning.embedder.model} yet. Run \`ctx embed pending\`.`,
  );
}

const SEARCHES: Readonly<Record<SearchMode, (asked: Asked) => Promise<Merged[]>>> = {
  keyword: async (asked) => merge(await byWords(asked, breadth(asked)), [], { fusion: 'weighted', alpha: 0 }),
  semantic: async (asked) => {
    const hits = await byMeaning(asked, await vectorOf(asked), breadth(asked));
    // The cosine already is a score from 0 to 1.
    return merge([], hits, { fusion: 'weighted', alpha: 1 }).map((hit) => ({
      ...hit,
      score: Math.min(1, Math.max(0, hit.semantic?.raw ?? 0)),
    }));
  },
  hybrid,
};

/**
 * Runs both searches, then again with the query vector moved towards the first results. This improved recall on the
 * development half of the quality benchmark with either kind of fusion.
 */
async function hybrid(asked: Asked): Promise<Merged[]> {
  const { settings, meaning } = asked.deps;
  if (!meaning) throw embeddingsDisabled();
  const width = breadth(asked);
  const [words, vector] = await Promise.all([byWords(asked, DEEPER * width), vectorOf(asked)]);
  const fusion: Fusion = { fusion: settings.fusion, alpha: settings.hybridAlpha };
  const pass = async (moved: Float32Array): Promise<Merged[]> => {
    const near = await byMeaning(asked, moved, width);
    const nearKeys = new Set(near.map(({ key }) => key));
    const others = words.slice(0, width).filter(({ key }) => !nearKeys.has(key));
    const vectors = await meaning.cache.vectorsOf(others.map(({ key }) => key));
    const further = others.flatMap(({ key }) => {
      const of = vectors.get(key);
      return of ? [{ key, score: dot(moved, of) }] : [];
    });
    const semantic = [...near, ...further.sort((a, b) => b.score - a.score)];
    const candidates = new Set([...nearKeys, ...words.slice(0, width).map(({ key }) => key)]);
    return merge(words, semantic, fusion).filter(({ key }) => candidates.has(key));
  };
  const first = await pass(vector);
  const best = await meaning.cache.vectorsOf(first.slice(0, FEEDBACK).map(({ key }) => key));
  const moved = ofLengthOne(movedTowards(vector, [...best.values()]));
  const cosines = new Map(first.map(({ key, semantic }) => [key, semantic?.raw]));
  return (await pass(moved)).map((hit) =>
    hit.semantic ? { ...hit, semantic: { ...hit.semantic, raw: cosines.get(hit.key) ?? hit.semantic.raw } } : hit,
  );
}

function movedTowards(vector: Float32Array, others: readonly Float32Array[]): Float32Array {
  if (others.length === 0) return vector;
  return vector.map((value, i) => value + others.reduce((sum, of) => sum + (of[i] as number), 0) / others.length);
}

function breadth({ deps, limit }: Asked): number {
  return Math.max(deps.settings.candidates, CHUNKS_PER_RESULT * limit);
}

async function byWords({ deps, words, filter }: Asked, limit: number): Promise<Hit[]> {
  const found = await deps.store.read((tx) =>
    tx.documents.findChunks({ ...words, limit, ...(filter ? { filter } : {}) }),
  );
  return found.map(({ chunkId, score }) => ({ key: chunkId, score }));
}

async function byMeaning({ deps, filter }: Asked, vector: Float32Array, limit: number): Promise<Hit[]> {
  const { store, meaning } = deps;
  const allowed = filter ? new Set(await store.read((tx) => tx.documents.listChunkKeys({ filter }))) : null;
  return meaning?.cache.nearest(vector, limit, allowed) ?? [];
}

async function vectorOf({ deps, text }: Asked): Promise<Float32Array> {
  const [vector] = (await deps.meaning?.embedder.embed([text.slice(0, LONGEST_EMBEDDED)])) ?? [];
  if (!vector) throw embeddingsDisabled();
  return vector;
}

/** The beginning of a query carries its meaning; models read only some hundred words. */
const LONGEST_EMBEDDED = 8_000;

/** Returns the requested number of different documents, each with its first chunk. */
async function firstDocuments({ deps, limit }: Asked, merged: readonly Merged[]) {
  const shown = new Map<string, { view: ChunkView; hit: Merged }>();
  for (let from = 0; from < merged.length && shown.size < limit; from += 2 * limit) {
    const hits = merged.slice(from, from + 2 * limit);
    const views = await deps.store.read((tx) => tx.documents.listChunkViews({ ids: hits.map(({ key }) => key) }));
    const byKey = new Map(views.map((view) => [view.id, view]));
    for (const hit of hits) {
      const view = byKey.get(hit.key);
      if (!view) deps.meaning?.cache.forget([hit.key]);
      else if (!shown.has(view.documentId) && shown.size < limit) shown.set(view.documentId, { view, hit });
    }
  }
  return [...shown.values()];
}

function show(
  { words }: Asked,
  view: ChunkView,
  hit: Merged,
  explain: { readonly mode: SearchMode; readonly alpha: number | null } | null,
): SearchResult {
  const { headings = [], from = null, to = null } = view.place;
  return {
    id: view.documentId,
    score: rounded(hit.score),
    title: view.title,
    source: view.source,
    source_id: view.sourceId,
    updated_at: new Date(view.updatedAt).toISOString(),
    snippet: snippetOf(view.text, words.words, SNIPPET),
    source_url: view.url,
    ...(explain && {
      explain: {
        ...explain,
        chunk: { index: view.idx, headings, from, to },
        keyword: hit.keyword && {
          rank: hit.keyword.rank,
          bm25: rounded(hit.keyword.raw),
          score: rounded(hit.keyword.score),
        },
        semantic: hit.semantic && {
          rank: hit.semantic.rank,
          cosine: rounded(hit.semantic.raw),
          score: rounded(hit.semantic.score),
        },
      },
    }),
  };
}

function rounded(score: number): number {
  return Math.round(score * 10_000) / 10_000;
}
