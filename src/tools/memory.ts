import * as z from 'zod';
import type { Passage } from '../core/memory.ts';
import { LABEL, LABEL_RULE, MAX_BLOCK, MAX_PASSAGE, MAX_QUERY, MAX_TAGS, TAG, TAG_RULE } from '../core/memory.ts';
import { takeFitting } from '../core/text.ts';
import { writeBlock } from '../memory/blocks.ts';
import { EVERYTHING, searchPassages, storePassage } from '../memory/passages.ts';

import { defineTool, textField } from './tool.ts';

/** A search returns at most this many passages and, after the first one, about this many characters. */
const MOST_FOUND = 20;
const FOUND_CHARACTERS = 60_000;

export const updateMemory = defineTool({
  name: 'update_memory',
  description:
    'Replace the text of one of your memory blocks, which are always in your prompt; a new label makes a new block. ' +
    'The new text is in your prompt from your next turn on. Blocks of others that you see can be changed only where their owner allows it.',
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
      .describe('The whole new text of the block.'),
  }),
  effect: true,
  run: async ({ tx, agent, now }, { label, content }) => {
    await writeBlock(tx, { readerId: agent.id, label, by: agent.id, expected: null }, content, now);
    return { result: { success: true } };
  },
});

export const searchMemory = defineTool({
  name: 'search_memory',
  description:
    'Search the passages that you have stored, by keywords. Any text will do; more matching words rank higher, and texts that contain the query as it is come after. At most 20 passages are returned.',
  input: z.strictObject({
    query: textField('What to search for.').max(MAX_QUERY, `must have at most ${MAX_QUERY} characters`),
  }),
  effect: false,
  look: ({ store, agent }, { query }) =>
    store.read((tx) => searchPassages(tx, { agentId: agent.id, ...EVERYTHING, query, limit: MOST_FOUND })),
  run: async ({ looked }) => ({
    result: { passages: takeFitting(looked, ({ content }) => content, FOUND_CHARACTERS).map(shown) },
  }),
});

export const storeMemory = defineTool({
  name: 'store_memory',
  description: 'Store a passage in your long-term memory, where only you find it again, with search_memory.',
  input: z.strictObject({
    content: textField('The text to remember.').max(MAX_PASSAGE, `must have at most ${MAX_PASSAGE} characters`),
    tags: z.array(z.string().regex(TAG, TAG_RULE)).max(MAX_TAGS).optional().describe('Words to file it under.'),
  }),
  effect: true,
  run: async ({ tx, agent, now }, { content, tags }) => ({
    result: { passageId: await storePassage(tx, agent.id, { content, tags: tags ?? [] }, now) },
  }),
});

function shown({ id, content, tags, createdAt }: Passage) {
  return { id, content, tags, createdAt: new Date(createdAt).toISOString() };
}
