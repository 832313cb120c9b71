import { SubstratError } from '../core/errors.ts';
import type { SearchAnswer, SearchExplanation, SearchMode, SearchRequest, SearchResult } from '../core/knowledge.ts';
import {
  type ChunkQuery,
  chunkQuery,
  didYouMean,
  fromZeroToOne,
  matchedWords,
  type NearQuery,
  snippetOf,
} from '../search/search.ts';
import type { ChunkFilter, ChunkView, Store } from '../store/store.ts';
import { type Embedder, embeddingsDisabled } from './embedding.ts';
import { hybrid } from './hybrid.ts';
import { type Hit, type Merged, merge } from './merge.ts';
import { nearQuery } from './near-query.ts';
import { blended, RERANKED, type Reranker } from './reranker.ts';
import { readFilter } from './search-filter.ts';
import type { VectorCache } from './vector-cache.ts';
import type { Vocabulary } from './vocabulary.ts';

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
  readonly vocabulary: Vocabulary;
  /** Whether the configuration has sources. */
  readonly hasSources: boolean;
  /** Null where embeddings are disabled. */
  readonly meaning: { readonly embedder: Embedder; readonly cache: VectorCache } | null;
  /** Null where reranking is off. */
  readonly reranker: Reranker | null;
}

const LONG = { long: true } as const;
const SNIPPET = 300;
const MOST_RESULTS = 500;
const MOST_QUERY = 100_000;
/** A document is one result but may have many good chunks, so fetch this many chunks per result. */
const CHUNKS_PER_RESULT = 4;
/** The keyword list is read this many times deeper, so that semantic candidates get their keyword score too. */
const DEEPER = 5;
/** The weight of a word that stands in the place of one that no chunk has. */
const NEAR_WEIGHT = 0.5;

/** Returns one result per document, by its best chunk, best first. */
export async function search(deps: SearchDependencies, request: SearchRequest): Promise<SearchAnswer> {
  const limit = request.limit ?? deps.settings.finalLimit;
  check(request.query, limit);
  const filter = readFilter(request.filters);
  const words = chunkQuery(request.query);
  const { mode, warning } = await modeOf(deps, request.mode);
  const near = await nearQuery(deps.store, deps.vocabulary, request.query.slice(0, LONGEST_EMBEDDED), words);
  const asked: Asked = { deps, text: request.query, words, near, filter, limit };
  const { merged, alpha, feedback } = await SEARCHES[mode](asked);
  const { shown, rerank, problem } = await reranked(asked, merged);
  const explain = request.explain ? { mode, alpha, feedback } : null;
  const results = shown.map((one) => show(asked, one, explain));
  const texts = shown.map(({ view }) => `${view.title ?? ''}\n${view.text}`);
  const meant = didYouMean(request.query, near, texts);
  const why = results.length === 0 && (await isEmpty(deps)) ? nothingIndexed(deps) : (warning ?? problem);
  return {
    results,
    ...(meant !== null && { did_you_mean: meant }),
    ...(rerank !== null && { rerank }),
    ...(why !== null && { warning: why }),
  };
}

/** The first documents, read by the reranking model if there is one. If it fails, the order stays, with a warning. */
async function reranked(asked: Asked, merged: readonly Merged[]) {
  const { deps, text, limit } = asked;
  const { reranker } = deps;
  if (!reranker) return { shown: await firstDocuments(asked, merged), rerank: null, problem: null };
  const found = await firstDocuments({ ...asked, limit: Math.max(limit, RERANKED) }, merged);
  const begin = performance.now();
  try {
    const texts = found.slice(0, RERANKED).map(({ view }) => `${view.title ?? ''}\n${view.text}`);
    const scores = await reranker.scores(text, texts);
    const ms = Math.round(performance.now() - begin);
    const shown = blended(found, scores).slice(0, limit);
    return { shown, rerank: { model: reranker.model, documents: texts.length, ms }, problem: null };
  } catch (error) {
    const problem = `Results are not reranked: ${(error as Error).message}`;
    return { shown: found.slice(0, limit), rerank: null, problem };
  }
}

async function isEmpty({ store }: SearchDependencies): Promise<boolean> {
  const first = { source: '', afterSource: '', afterId: '', limit: 1 };
  return (await store.read((tx) => tx.documents.listDocuments(first))).length === 0;
}

function nothingIndexed({ hasSources }: SearchDependencies): string {
  return hasSources
    ? 'Nothing is indexed yet. Run `ctx sync`.'
    : 'Nothing is indexed yet. Run `ctx init` in a directory with documents.';
}

interface Asked {
  readonly deps: SearchDependencies;
  readonly text: string;
  readonly words: ChunkQuery;
  readonly near: NearQuery;
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

/** Hybrid search without vectors falls back to keywords, with a warning; semantic search cannot. */
async function modeOf(
  { settings, meaning }: SearchDependencies,
  asked: SearchMode | undefined,
): Promise<{ readonly mode: SearchMode; readonly warning: string | null }> {
  const mode = asked ?? settings.mode;
  if (mode === 'keyword') return { mode, warning: null };
  if (meaning && (await meaning.cache.size()) > 0) return { mode: mode ?? 'hybrid', warning: null };
  if (mode === null) return { mode: 'keyword', warning: null };
  const problem = meaning
    ? new SubstratError(
        'not_configured',
        `No chunk has been embedded with the model ${meaning.embedder.model} yet. Run \`ctx embed pending\`.`,
      )
    : embeddingsDisabled();
  if (mode === 'semantic') throw problem;
  return { mode: 'keyword', warning: `Searched by keywords only. ${problem.message}` };
}

interface Ranking {
  readonly merged: readonly Merged[];
  readonly alpha: number | null;
  readonly feedback: boolean;
}

const SEARCHES: Readonly<Record<SearchMode, (asked: Asked) => Promise<Ranking>>> = {
  keyword: async (asked) => {
    const { hits, most } = await byWords(asked, breadth(asked));
    return { merged: merge(hits, [], { ...WEIGHTED, alpha: 0, most }), alpha: null, feedback: false };
  },
  semantic: async (asked) => {
    const hits = await byMeaning(asked, await vectorOf(asked), breadth(asked));
    const unrelated = (await asked.deps.meaning?.cache.unrelated()) ?? 0;
    return { merged: merge([], hits, { ...WEIGHTED, alpha: 1, unrelated }), alpha: null, feedback: false };
  },
  hybrid: async (asked) => {
    const { settings, meaning } = asked.deps;
    if (!meaning) throw embeddingsDisabled();
    const width = breadth(asked);
    const [{ hits, most }, vector] = await Promise.all([byWords(asked, DEEPER * width), vectorOf(asked)]);
    const alpha = settings.hybridAlpha;
    const how = { fusion: settings.fusion, alpha, most, unrelated: await meaning.cache.unrelated() };
    const nearest = (of: Float32Array) => byMeaning(asked, of, width);
    return { ...(await hybrid({ words: hits, vector, cache: meaning.cache, nearest, width, how })), alpha };
  },
};

const WEIGHTED = { fusion: 'weighted', most: 0, unrelated: 0 } as const;

function breadth({ deps, limit }: Asked): number {
  return Math.max(deps.settings.candidates, CHUNKS_PER_RESULT * limit);
}

async function byWords(
  { deps, words, near, filter }: Asked,
  limit: number,
): Promise<{ readonly hits: Hit[]; readonly most: number }> {
  const find = (query: ChunkQuery) =>
    deps.store.read((tx) => tx.documents.findChunks({ ...query, limit, ...(filter ? { filter } : {}) }), LONG);
  const exact = await find(words);
  const others = near.words.length > 0 ? await find({ words: near.words, phrases: near.phrases }) : [];
  const found = new Map(exact.map(({ chunkId, score }) => [chunkId, score]));
  for (const { chunkId, score } of others) found.set(chunkId, (found.get(chunkId) ?? 0) + NEAR_WEIGHT * score);
  const hits = [...found]
    .map(([key, score]) => ({ key, score }))
    .sort((a, b) => b.score - a.score || a.key - b.key)
    .slice(0, limit);
  return { hits, most: exact[0]?.most ?? others[0]?.most ?? 0 };
}

async function byMeaning({ deps, filter }: Asked, vector: Float32Array, limit: number): Promise<Hit[]> {
  const { store, meaning } = deps;
  const allowed = filter ? new Set(await store.read((tx) => tx.documents.listChunkKeys({ filter }), LONG)) : null;
  return meaning?.cache.nearest(vector, limit, allowed) ?? [];
}

async function vectorOf({ deps, text }: Asked): Promise<Float32Array> {
  const [vector] = (await deps.meaning?.embedder.embed([text.slice(0, LONGEST_EMBEDDED)], 'query')) ?? [];
  if (!vector) throw embeddingsDisabled();
  return vector;
}

/** The beginning of a query carries its meaning; models read only some hundred words. */
const LONGEST_EMBEDDED = 8_000;

interface Shown {
  readonly view: ChunkView;
  readonly hit: Merged;
  readonly score: number;
  readonly reranked: number | null;
}

/** Returns the requested number of different documents, each with its first chunk. */
async function firstDocuments({ deps, limit }: Asked, merged: readonly Merged[]) {
  const shown = new Map<string, Shown>();
  for (let from = 0; from < merged.length && shown.size < limit; from += 2 * limit) {
    const hits = merged.slice(from, from + 2 * limit);
    const views = await deps.store.read((tx) => tx.documents.listChunkViews({ ids: hits.map(({ key }) => key) }));
    const byKey = new Map(views.map((view) => [view.id, view]));
    for (const hit of hits) {
      const view = byKey.get(hit.key);
      if (!view) deps.meaning?.cache.forget([hit.key]);
      else if (!shown.has(view.documentId) && shown.size < limit)
        shown.set(view.documentId, { view, hit, score: hit.score, reranked: null });
    }
  }
  return [...shown.values()];
}

function show(
  { words, near }: Asked,
  { view, hit, score, reranked: rerank }: Shown,
  explain: Pick<SearchExplanation, 'mode' | 'alpha' | 'feedback'> | null,
): SearchResult {
  const { headings = [], from = null, to = null } = view.place;
  const all = [...words.words, ...near.words];
  const snippet = snippetOf(view.text, all, SNIPPET);
  return {
    id: view.documentId,
    score: rounded(fromZeroToOne(score)),
    title: view.title,
    source: view.source,
    source_id: view.sourceId,
    updated_at: new Date(view.updatedAt).toISOString(),
    snippet,
    source_url: view.url,
    ...(explain && {
      explain: {
        ...explain,
        rerank: rerank === null ? null : rounded(rerank),
        matched: matchedWords(snippet, all),
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
