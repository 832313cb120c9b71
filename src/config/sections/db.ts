import { join } from 'node:path';
import * as z from 'zod';
import { maybe, type Place, table, text } from '../fields.ts';

export const db = ({ home, resolve }: Place) =>
  table({
    path: maybe(
      text
        .refine((path) => !/^\w+:\/\//.test(path), 'must be a file; the URL of a database goes into "url"')
        .transform((path) => (path === ':memory:' ? path : resolve(path))),
    ),
    url: maybe(text.refine(isPostgres, 'is no URL of a PostgreSQL database, postgres://… or postgresql://…')).meta({
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
        message: 'excludes "path": one of them says where the store is',
      });
      return z.NEVER;
    })
    .describe('Where the store is: a SQLite file or a PostgreSQL database.');

function isPostgres(url: string): boolean {
  return /^postgres(ql)?:\/\//.test(url) && URL.canParse(url);
}
