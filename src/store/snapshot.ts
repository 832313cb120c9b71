import type { Load, Snapshot } from './dump.ts';
import type { PostgresPlace } from './postgres-connection.ts';

export type * from './dump.ts';

/** Opens a second connection, so that a running daemon can keep writing. */
export async function openSnapshot(where: { readonly path: string } | PostgresPlace): Promise<Snapshot> {
  if ('url' in where) return (await import('./postgres-dump.ts')).openPostgresSnapshot(where.directUrl ?? where.url);
  return (await import('./sqlite-dump.ts')).openSqliteSnapshot(where.path);
}

/**
 * `replace`: deletes what is in a PostgreSQL database, in the same transaction. A SQLite file must be new; the caller
 * moves it into place afterwards.
 */
export async function openLoad(
  where: { readonly path: string } | PostgresPlace,
  options: { readonly version: number; readonly replace: boolean },
): Promise<Load> {
  if ('url' in where)
    return (await import('./postgres-dump.ts')).openPostgresLoad(where.directUrl ?? where.url, options);
  return (await import('./sqlite-dump.ts')).openSqliteLoad(where.path, options.version);
}
