import type { Store } from './store.ts';

/** Loads only the driver of the engine that is used: a start counts every module. */
export async function openStore(where: { readonly path: string } | { readonly url: string }): Promise<Store> {
  if ('url' in where) return (await import('./postgres.ts')).openPostgres(where.url);
  return (await import('./sqlite.ts')).openSqlite(where.path);
}
