import { isAbsolute, relative } from 'node:path';
import { realPlace } from './inside.ts';

type Db = { readonly path: string } | { readonly url: string };

/** Where a store is, for people: the path of its file, or the URL of its database without secrets. */
export function storeName(db: Db): string {
  if ('path' in db) return db.path;
  const url = new URL(db.url);
  url.password = '';
  for (const key of [...url.searchParams.keys()].filter((one) => /pass|key/i.test(one))) url.searchParams.delete(key);
  return url.href;
}

/**
 * What tells one store from another. A file in the home is known by its path in the home, so that a home can be moved; a
 * database is the same whoever signs in to it.
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
