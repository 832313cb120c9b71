import type { PostgresLimits } from './postgres-connection.ts';
import type { Store, StoreLog } from './store.ts';

export interface StoreOptions {
  /**
   * `full`: what was answered survives a power cut. `normal`, for whoever writes only what can be made again, such as the index
   * of documents: a power cut may take the last transactions, whole ones, and nobody waits for the disk at each.
   */
  readonly durability?: 'full' | 'normal';
  /** Told of each connection that is lost, and of its return. */
  readonly log?: StoreLog;
  /**
   * Notice when a SQLite file is deleted, replaced or cut off, and refuse to write then. For a process that opens the file only once: what
   * is held open for this must not be closed before SQLite closes it.
   */
  readonly watch?: boolean;
  /** Called before the schema of a SQLite file that is not new is brought up to date, with its version. */
  readonly beforeUpgrade?: (from: number) => Promise<void>;
  /** Of PostgreSQL, where they differ from ours. */
  readonly limits?: Partial<PostgresLimits>;
}

/** Loads only the driver of the engine that is used: a start counts every module. */
export async function openStore(
  where: { readonly path: string } | { readonly url: string },
  { durability = 'full', log, limits, watch = false, beforeUpgrade }: StoreOptions = {},
): Promise<Store> {
  if ('url' in where) return (await import('./postgres.ts')).openPostgres(where.url, { log, limits });
  return (await import('./sqlite.ts')).openSqlite(where.path, { durability, watch, log, beforeUpgrade });
}
