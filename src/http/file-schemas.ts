import { z } from '@hono/zod-openapi';
import { uuid } from './fields.ts';

const Entry = z
  .strictObject({
    name: z.string(),
    kind: z.enum(['file', 'directory', 'link', 'other']),
    size: z.int().nullable().openapi({ description: 'Bytes of a file.' }),
  })
  .openapi('FileEntry');

export const AgentFile = z
  .strictObject({
    agentId: uuid,
    path: z.string(),
    kind: z.enum(['file', 'directory']),
    entries: z.array(Entry).nullable().openapi({ description: 'Of a directory, by name; null for a file.' }),
    truncated: z.boolean().openapi({ description: 'The directory has more entries.' }),
    size: z.int().nullable().openapi({ description: 'Bytes of the whole file.' }),
    text: z.string().nullable().openapi({ description: 'This page of the file; null if it is not text.' }),
    data: z.string().nullable().openapi({ description: 'This page in base64, with `encoding=base64`.' }),
    nextOffset: z.int().nullable().openapi({ description: 'Where the next page begins; null at the end.' }),
  })
  .openapi('AgentFile');

export const AgentDiff = z
  .strictObject({
    agentId: uuid,
    base: z.string().nullable().openapi({ description: 'The commit that the files are compared with.' }),
    files: z.array(
      z
        .strictObject({
          path: z.string(),
          added: z.int().nullable().openapi({ description: 'Lines; null for a binary file.' }),
          removed: z.int().nullable(),
        })
        .openapi('DiffFile'),
    ),
    diff: z.string().openapi({ description: "In git's format, at most 1,000,000 bytes." }),
    truncated: z.boolean(),
  })
  .openapi('AgentDiff');
