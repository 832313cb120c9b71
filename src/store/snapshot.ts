import type { Load, Snapshot } from './dump.ts';

export type * from './dump.ts';

/** Opens a second connection, so that a running daemon can keep writing. */
export async function openSnapshot(where: { readonly path: string } | { readonly url: string }): Promise<Snapshot> {
  if ('url' in where) return (await import('./postgres-dump.ts')).openPostgresSnapshot(where.url);
  return (await import('./sqlite-dump.ts')).openSqliteSnapshot(where.path);
}

/**
 * `replace`: deletes what is in a PostgreSQL database, in the same transaction. A SQLite file must be new; the caller
 * moves it into place afterwards.
 */
export async function openLoad(
  where: { readonly path: string } | { readonly url: string },
  options: { readonly version: number; readonly replace: boolean },
): Promise<Load> {
  if ('url' in where) return (await import('./postgres-dump.ts')).openPostgresLoad(where.url, options);
  return (await import('./sqlite-dump.ts')).openSqliteLoad(where.path, options.version);
}
