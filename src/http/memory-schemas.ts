import { z } from '@hono/zod-openapi';
import { MAX_BLOCK, MAX_PASSAGE, MAX_TAGS, TAG, TAG_RULE } from '../core/memory.ts';
import { label, NO_NUL, plain, text, time, uuid } from './fields.ts';

export const Block = z
  .strictObject({
    label: z.string(),
    text: z.string(),
    version: z.int(),
    owner: z.string().openapi({ description: 'Handle of the agent, or `user`.' }),
    sharedWith: z.array(z.string()).openapi({ description: 'Handles of the agents it is shared with.' }),
    open: z.boolean().openapi({ description: 'Whether those agents may change it.' }),
    createdAt: time,
    updatedAt: time,
  })
  .openapi('Block');

export const BlockText = z.strictObject({ text: z.string().max(MAX_BLOCK).refine(plain, NO_NUL) }).openapi('BlockText');

export const BlockChange = z
  .strictObject({
    version: z.int(),
    text: z.string().nullable().openapi({ description: 'null if this version is a deletion.' }),
    by: z.string().openapi({ description: 'Handle of the participant who made the change.' }),
    at: time,
  })
  .openapi('BlockChange');

export const BlockRestoration = z
  .strictObject({ version: z.int().min(1).max(1_000_000_000) })
  .openapi('BlockRestoration');

export const BlockSharing = z
  .strictObject({
    with: z
      .array(label)
      .max(1000)
      .openapi({ description: 'REFs of the agents; an empty list makes the block private again.' }),
    open: z.boolean().default(false),
  })
  .openapi('BlockSharing');

export const Passage = z
  .strictObject({ id: uuid, content: z.string(), tags: z.array(z.string()), createdAt: time })
  .openapi('Passage');

export const PassageCreation = z
  .strictObject({
    content: text.max(MAX_PASSAGE),
    tags: z.array(z.string().regex(TAG, TAG_RULE)).max(MAX_TAGS).default([]),
  })
  .openapi('PassageCreation');
