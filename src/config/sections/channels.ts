import * as z from 'zod';
import { oneLine, table, text } from '../fields.ts';

const wake = z.enum(['all', 'mentions', 'none']);

export const channels = z
  .record(
    z.string(),
    table({
      kind: z.enum(['public', 'private']).default('public'),
      topic: oneLine.default(''),
      members: z.array(text).default([]),
      wake: z.record(z.string(), wake).default({}),
    }).superRefine(({ members, wake: settings }, context) => {
      for (const name of Object.keys(settings).filter((one) => !members.includes(one))) {
        context.addIssue({ code: 'custom', path: ['wake', name], message: 'is not a member of the channel' });
      }
    }),
  )
  .prefault({})
  .transform((entries) => Object.entries(entries).map(([id, entry]) => ({ id, ...entry })))
  .describe('Channels that exist from the start. Their members are agents or people; agents answer in this order.');
