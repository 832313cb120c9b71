import type { PostgresLimits } from './postgres-connection.ts';
import type { Store, StoreLog } from './store.ts';

export interface StoreOptions {
  /**
   * `full`: a resolved write survives a power failure. `normal` is for data that can be rebuilt, such as the index of
   * documents: a power failure may lose the last transactions, as a whole, and no write waits for the disk.
   */
  readonly durability?: 'full' | 'normal';
  /** Logs each lost connection and its return. */
  readonly log?: StoreLog;
  /**
   * Detect that a SQLite file was deleted, replaced or truncated, and then refuse to write. For a process that opens
   * the file only once: the descriptors held open for this must not be closed before SQLite closes the file.
   */
  readonly watch?: boolean;
  /** Called with its version before the schema of an existing SQLite file is migrated. */
  readonly beforeUpgrade?: (from: number) => Promise<void>;
  /** Overrides the default PostgreSQL limits. */
  readonly limits?: Partial<PostgresLimits>;
}

/** Loads only the driver of the engine that is used, for a faster start. */
export async function openStore(
  where: { readonly path: string } | { readonly url: string },
  { durability = 'full', log, limits, watch = false, beforeUpgrade }: StoreOptions = {},
): Promise<Store> {
  if ('url' in where) return (await import('./postgres.ts')).openPostgres(where.url, { log, limits });
  return (await import('./sqlite.ts')).openSqlite(where.path, { durability, watch, log, beforeUpgrade });
}
