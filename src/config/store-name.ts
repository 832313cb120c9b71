import { realpathSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, relative } from 'node:path';

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
    const inHome = relative(realPlace(home), realPlace(db.path));
    return inHome.startsWith('..') || isAbsolute(inHome) ? realPlace(db.path) : inHome;
  }
  const url = new URL(storeName(db));
  url.username = '';
  return url.href;
}

/** The path with the links in it resolved, as far as it exists. */
function realPlace(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return dirname(path) === path ? path : join(realPlace(dirname(path)), basename(path));
  }
}
