import * as z from 'zod';
import { type KnowledgeDocument, SEARCH_MODES } from '../core/knowledge.ts';
import { knownDocument, referring } from './references.ts';
import { defineTool, referenceField, textField } from './tool.ts';

const MOST_RESULTS = 500;
const MOST_TAGS = 20;
/** Maximum number of characters of a document in a turn; the rest is found by searching. */
const MOST_CHARACTERS = 100_000;

const filterField = (description: string) =>
  z
    .string()
    .max(400)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: NUL is meant.
    .regex(/^[^\x00]*$/, 'must not contain NUL characters')
    .describe(description);

export const searchInput = z.strictObject({
  query: textField('What to look for: words, a "phrase" in quotes, a question, an error message.').max(
    100_000,
    'must have at most 100000 characters',
  ),
  mode: z
    .enum(SEARCH_MODES)
    .optional()
    .describe('keyword (words), semantic (meaning) or hybrid (both). Default: the best mode that is configured.'),
  limit: z.int().min(1).max(MOST_RESULTS).optional().describe('Maximum number of documents.'),
  filters: z
    .strictObject({
      source: filterField('Only this source: "type:name", or just the name.').optional(),
      tags: z.array(filterField('A tag.')).max(MOST_TAGS).optional().describe('Only documents with all of these tags.'),
      since: filterField('Only documents changed since this date or time (ISO 8601).').optional(),
      until: filterField('Only documents changed before this date or time (ISO 8601).').optional(),
    })
    .optional(),
  explain: z.boolean().optional().describe('Include how each score was computed.'),
});

export const getInput = z.strictObject({
  id: referenceField('Document id or path (source_id), as returned by search.'),
});
export const sourcesInput = z.strictObject({});

export const SEARCH_DESCRIPTION =
  'Search the knowledge base. The query is plain text; documents that match more words rank higher. Returns documents with a matching snippet; use get to read one.';
export const GET_DESCRIPTION =
  'Read a document of the knowledge base by the id or path (source_id) that search returns.';
export const SOURCES_DESCRIPTION = 'List the sources of the knowledge base and their status.';

export const searchTool = defineTool({
  name: 'search',
  description: SEARCH_DESCRIPTION,
  input: searchInput,
  effect: false,
  look: ({ settings }, input) => settings.knowledge.search(input),
  run: async ({ looked }) => ({ result: { ...looked } }),
});

export const getTool = defineTool({
  name: 'get',
  description: GET_DESCRIPTION,
  input: getInput,
  refers: referring({ id: knownDocument }),
  effect: false,
  look: ({ settings }, { id }) => settings.knowledge.get(id),
  run: async ({ looked }) => ({ result: { ...cutDocument(looked) } }),
});

export const sourcesTool = defineTool({
  name: 'sources',
  description: SOURCES_DESCRIPTION,
  input: sourcesInput,
  effect: false,
  look: ({ settings }) => settings.knowledge.sources(),
  run: async ({ looked }) => ({ result: { ...looked } }),
});

/** A result is recorded and fills the context, so a long document is truncated. */
function cutDocument(document: KnowledgeDocument): KnowledgeDocument {
  if (document.body.length <= MOST_CHARACTERS) return document;
  let room = MOST_CHARACTERS;
  return {
    ...document,
    body: `${document.body.slice(0, MOST_CHARACTERS)}\n… (${document.body.length - MOST_CHARACTERS} more characters)`,
    chunks: document.chunks.filter(({ text }) => {
      room -= text.length;
      return room >= 0;
    }),
  };
}
