import { join } from 'node:path';
import * as z from 'zod';
import { count, flag, maybe, type PathBase, table, text } from '../fields.ts';

const POSTGRES_URL = 'must be the URL of a PostgreSQL database, postgres://… or postgresql://…';

export const db = ({ home, resolve }: PathBase) =>
  table({
    path: maybe(
      text
        .refine((path) => !/^\w+:\/\//.test(path), 'must be a file; set "url" for the URL of a database')
        .transform((path) => (path === ':memory:' ? path : resolve(path))),
    ),
    url: maybe(text.refine(isPostgres, POSTGRES_URL)).meta({
      secret: true,
    }),
    pool: count({ fallback: 16, min: 1, max: 200 }),
    direct_url: maybe(text.refine(isPostgres, POSTGRES_URL)).meta({ secret: true }),
    prepared: flag(true),
  })
    .prefault({})
    .transform(({ path, url, pool, directUrl, prepared }, context) => {
      if (url === null) return { path: path ?? join(home, 'substrat.db') };
      if (path === null) return { url, pool, directUrl, prepared };
      context.addIssue({
        code: 'custom',
        path: ['url'],
        message: 'cannot be combined with "path"',
      });
      return z.NEVER;
    })
    .describe('Where the store is: a SQLite file or a PostgreSQL database.');

function isPostgres(url: string): boolean {
  return /^postgres(ql)?:\/\//.test(url) && URL.canParse(url);
}
