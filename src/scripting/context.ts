import * as z from 'zod';
import { SubstratError } from '../core/errors.ts';
import { type Knowledge, SEARCH_MODES, type SearchRequest } from '../core/knowledge.ts';

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

/** `context.search`, `get` and `sources` of a script, as the knowledge base answers them: lists are plain lists there. */
export async function consult(
  knowledge: Knowledge | undefined,
  operation: string,
  args: readonly unknown[],
): Promise<unknown> {
  if (knowledge === undefined) throw new SubstratError('not_found', 'There is no knowledge base here.');
  if (operation === 'context.search') return (await knowledge.search(searchRequest(args))).results;
  if (operation === 'context.sources') return (await knowledge.sources()).sources;
  const [id] = args;
  if (typeof id !== 'string') throw new SubstratError('bad_request', 'context.get takes the id of a document');
  return knowledge.get(id);
}

/** Both `search({query = …, filters = {…}})` and `search("…", {…})`; filters may stand beside the other options. */
function searchRequest([first, second]: readonly unknown[]): SearchRequest {
  const { query, ...given } = typeof first === 'string' ? { query: first, ...Object(second) } : Object(first);
  if (typeof query !== 'string') throw new SubstratError('bad_request', 'context.search needs a query');
  const parsed = Options.safeParse(given);
  if (!parsed.success) {
    const problems = parsed.error.issues.map(({ path, message }) => [...path, message].join(': '));
    throw new SubstratError('bad_request', `context.search: ${problems.join('; ')}`);
  }
  const { mode, limit, filters: inside, ...beside } = parsed.data;
  return { query, mode, limit, filters: { ...beside, ...inside } };
}

/** An empty table of Lua is an object, whichever it was meant to be. */
function withoutEmpty(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([, item]) => !isEmpty(item));
  return Object.fromEntries(entries);
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}
