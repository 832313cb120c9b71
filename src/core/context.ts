import * as z from 'zod';
import { SubstratError } from './errors.ts';
import {
  type Knowledge,
  type KnowledgeDocument,
  type KnowledgeSource,
  SEARCH_MODES,
  type SearchFilters,
  type SearchRequest,
  type SearchResult,
} from './knowledge.ts';
import { describeProblems } from './validation.ts';

/** The knowledge base as personas, tools and scripts see it, with plain arrays. */
export interface KnowledgeContext {
  search(query: string, options?: SearchOptions): Promise<readonly SearchResult[]>;
  search(request: SearchRequest): Promise<readonly SearchResult[]>;
  get(id: string): Promise<KnowledgeDocument>;
  sources(): Promise<readonly KnowledgeSource[]>;
}

/** Filters may be given next to the other options. */
export interface SearchOptions extends Omit<SearchRequest, 'query'>, SearchFilters {}

const filters = {
  source: z.string().optional(),
  tags: z.array(z.string()).optional(),
  since: z.string().optional(),
  until: z.string().optional(),
};
const Options = z.strictObject({
  mode: z.enum(SEARCH_MODES).optional(),
  limit: z.int().positive().optional(),
  filters: z.preprocess(withoutEmpty, z.strictObject(filters)).optional(),
  ...filters,
});

export function knowledgeContext(knowledge: Knowledge | null | undefined): KnowledgeContext {
  const there = () => {
    if (!knowledge) throw new SubstratError('not_found', 'There is no knowledge base here.');
    return knowledge;
  };
  return {
    search: async (first: unknown, second?: unknown) => (await there().search(searchRequest(first, second))).results,
    get: async (id: unknown) => {
      if (typeof id !== 'string') throw new SubstratError('bad_request', 'context.get takes the id of a document');
      return there().get(id);
    },
    sources: async () => (await there().sources()).sources,
  };
}

function searchRequest(first: unknown, second: unknown): SearchRequest {
  const { query, ...given }: { query?: unknown } =
    typeof first === 'string' ? { query: first, ...Object(second) } : Object(first);
  if (typeof query !== 'string') throw new SubstratError('bad_request', 'context.search needs a query');
  const parsed = Options.safeParse(given);
  if (!parsed.success) {
    throw new SubstratError('bad_request', `context.search: ${describeProblems(parsed.error)}`);
  }
  const { mode, limit, filters: inside, ...beside } = parsed.data;
  return { query, mode, limit, filters: { ...beside, ...inside } };
}

/** An empty Lua table arrives as an object, even if a list was meant. */
function withoutEmpty(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).filter(([, item]: [string, unknown]) => !isEmpty(item)));
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}
