import { z } from '@hono/zod-openapi';
import { line } from './schemas.ts';

/** Requests and responses about the configuration as desired state. */

export const ApplyWish = z
  .strictObject({
    dryRun: z.boolean().default(false).openapi({ description: 'Only list the differences.' }),
    force: z.boolean().default(false).openapi({
      description: 'Where the file and people changed the same setting, take the value of the file.',
    }),
    recreate: z.array(line(300).min(1)).max(200).default([]).openapi({
      description: 'Names of members and ids of channels that ended and are created again.',
    }),
  })
  .openapi('ApplyWish');

export const ApplyItem = z
  .strictObject({
    kind: z.enum(['member', 'channel', 'persona', 'person', 'section']),
    name: z.string().openapi({ description: 'The name of its table in the configuration.' }),
    action: z.enum(['create', 'change', 'conflict', 'left']).openapi({
      description:
        '`conflict`: the file and people changed it, so it stays. `left`: it stays for the reason in `note`.',
    }),
    field: z.string().nullable(),
    from: z.string().nullable(),
    to: z.string().nullable(),
    note: z.string().nullable(),
  })
  .openapi('ApplyItem');
