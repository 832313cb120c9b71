import * as z from 'zod';
import type { Passage } from '../core/memory.ts';
import { LABEL, LABEL_RULE, MAX_BLOCK, MAX_PASSAGE, MAX_QUERY, MAX_TAGS, TAG, TAG_RULE } from '../core/memory.ts';
import { takeFitting } from '../core/text.ts';
import { writeBlock } from '../memory/blocks.ts';
import { storePassage } from '../memory/passages.ts';
import { EVERYTHING, searchPassages } from '../memory/search.ts';

import { name, referring } from './references.ts';
import { defineTool, textField, timeField } from './tool.ts';

/** A search returns at most this many passages, 20 by default, and, after the first one, about this many characters. */
const MOST_FOUND = 100;
const USUALLY_FOUND = 20;
const FOUND_CHARACTERS = 60_000;

export const updateMemory = defineTool({
  name: 'update_memory',
  description:
    'Replace the text of one of your memory blocks, which are always in your prompt. A new label creates a new block. ' +
    'The new text is in your prompt from your next turn on. You can change a block shared with you only if its owner allows it.',
  input: z.strictObject({
    label: z
      .string()
      .regex(LABEL, LABEL_RULE)
      .describe('Label of the block, such as "personality" or "current_state".'),
    content: z
      .string()
      .max(MAX_BLOCK, `must have at most ${MAX_BLOCK} characters`)
      // biome-ignore lint/suspicious/noControlCharactersInRegex: NUL is meant.
      .regex(/^[^\x00]*$/, 'must not contain NUL characters')
      .describe('The complete new text of the block.'),
  }),
  refers: referring({ label: name }),
  effect: true,
  run: async ({ tx, agent, now }, { label, content }) => {
    await writeBlock(tx, { readerId: agent.id, label, by: agent.id, expected: null }, content, now);
    return { result: { success: true } };
  },
});

export const searchMemory = defineTool({
  name: 'search_memory',
  description:
    'Search your stored passages by words and, if embeddings are configured, by meaning. The query is plain text; a phrase in quotes ranks higher where its words stand together. ' +
    'Passages stored next to a match and the date ("in May") count too. Returns the best first, at most 20 unless `limit` says otherwise.',
  input: z.strictObject({
    query: textField('What to search for.').max(MAX_QUERY, `must have at most ${MAX_QUERY} characters`),
    limit: z.int().min(1).max(MOST_FOUND).optional().describe('Maximum number of passages. Default: 20.'),
    tags: z
      .array(z.string().regex(TAG, TAG_RULE))
      .max(MAX_TAGS)
      .optional()
      .describe('Only passages with all of these tags.'),
    since: timeField('Only passages stored since this date or time, such as 2026-01-31.').optional(),
    until: timeField('Only passages stored before this date or time.').optional(),
  }),
  effect: false,
  look: ({ store, agent, settings }, { query, limit, tags, since, until }) =>
    searchPassages(
      { store, meaning: settings.passageMeaning },
      {
        agentId: agent.id,
        query,
        limit: limit ?? USUALLY_FOUND,
        tags: tags ?? [],
        since: since === undefined ? EVERYTHING.since : Date.parse(since),
        until: until === undefined ? EVERYTHING.until : Date.parse(until),
      },
    ),
  run: async ({ looked }) => ({
    result: { passages: takeFitting(looked, ({ content }) => content, FOUND_CHARACTERS).map(shown) },
  }),
});

export const storeMemory = defineTool({
  name: 'store_memory',
  description: 'Save a passage to your long-term memory. Only you can find it, with search_memory.',
  input: z.strictObject({
    content: textField('The text to remember.').max(MAX_PASSAGE, `must have at most ${MAX_PASSAGE} characters`),
    tags: z.array(z.string().regex(TAG, TAG_RULE)).max(MAX_TAGS).optional().describe('Tags for the passage.'),
  }),
  effect: true,
  run: async ({ tx, agent, run, now }, { content, tags }) => ({
    result: { passageId: await storePassage(tx, agent.id, { content, tags: tags ?? [], runId: run.id }, now) },
  }),
});

function shown({ id, content, tags, createdAt }: Passage) {
  return { id, content, tags, createdAt: new Date(createdAt).toISOString() };
}
