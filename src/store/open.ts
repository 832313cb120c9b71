import type { PostgresLimits, PostgresPlace } from './postgres-connection.ts';
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
  /**
   * Run long reads on SQLite in threads of their own. For a process that serves others: a thread takes longer to start
   * than most reads take.
   */
  readonly threads?: boolean;
  /** Called with its version before the schema of an existing SQLite file is migrated. */
  readonly beforeUpgrade?: (from: number) => Promise<void>;
  /** Overrides the default PostgreSQL limits. */
  readonly limits?: Partial<PostgresLimits>;
}

/** Loads only the driver of the engine that is used, for a faster start. */
export async function openStore(
  where: { readonly path: string } | (PostgresPlace & { readonly pool?: number }),
  { durability = 'full', log, limits, watch = false, threads = false, beforeUpgrade }: StoreOptions = {},
): Promise<Store> {
  if ('url' in where) {
    const { openPostgres } = await import('./postgres.ts');
    return openPostgres(where, { log, limits: { ...(where.pool && { writers: where.pool }), ...limits } });
  }
  return (await import('./sqlite.ts')).openSqlite(where.path, { durability, watch, threads, log, beforeUpgrade });
}
