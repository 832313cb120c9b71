import * as z from 'zod';
import { type PathBase, table, text } from '../fields.ts';

export const sandbox = ({ resolve }: PathBase) =>
  table({
    // Other platforms have no sandbox, which every status output shows.
    mode: z
      .enum(['bwrap', 'none'], 'must be "bwrap" or "none"')
      .default(process.platform === 'linux' ? 'bwrap' : 'none'),
    roots: z.array(text.transform(resolve)).default([]),
    network: z
      .array(text.regex(/^[^\s/@]+$/, 'must be a host such as "api.example.com", without scheme or path'))
      .default([]),
  })
    .prefault({})
    .describe('How turns are sandboxed, the directories agents may link, and the hosts they may reach.');
