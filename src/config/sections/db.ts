import { join } from 'node:path';
import * as z from 'zod';
import { maybe, type PathBase, table, text } from '../fields.ts';

export const db = ({ home, resolve }: PathBase) =>
  table({
    path: maybe(
      text
        .refine((path) => !/^\w+:\/\//.test(path), 'must be a file; set "url" for the URL of a database')
        .transform((path) => (path === ':memory:' ? path : resolve(path))),
    ),
    url: maybe(
      text.refine(isPostgres, 'must be the URL of a PostgreSQL database, postgres://… or postgresql://…'),
    ).meta({
      secret: true,
    }),
  })
    .prefault({})
    .transform(({ path, url }, context) => {
      if (url === null) return { path: path ?? join(home, 'substrat.db') };
      if (path === null) return { url };
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
