import { isAbsolute, relative } from 'node:path';
import { realPlace } from './inside.ts';

type Db = { readonly path: string } | { readonly url: string };

/** The location of a store for display: the path of its file, or the URL of its database without secrets. */
export function storeName(db: Db): string {
  if ('path' in db) return db.path;
  const url = new URL(db.url);
  url.password = '';
  for (const key of [...url.searchParams.keys()].filter((one) => /pass|key/i.test(one))) url.searchParams.delete(key);
  return url.href;
}

/**
 * Identifies a store. A file in the home is identified by its path relative to the home, so that a home can be moved;
 * a database is the same for every user name.
 */
export function storeIdentity(db: Db, home: string): string {
  if ('path' in db) {
    const real = realPlace(db.path) ?? db.path;
    const inHome = relative(realPlace(home) ?? home, real);
    return inHome.startsWith('..') || isAbsolute(inHome) ? real : inHome;
  }
  const url = new URL(storeName(db));
  url.username = '';
  return url.href;
}
