import { sql } from 'kysely';
import type { Queries } from './query.ts';

/** What the daemon reports about its store. */
export interface Metrics {
  /** Messages that wait for any agent; reads all of them. */
  countUndelivered(): Promise<number>;
  /** The size of the database; on SQLite without its log. */
  getStoreBytes(): Promise<number>;
}

export function metricQueries({ db, engine, count }: Queries): Metrics {
  const bytes =
    engine === 'sqlite'
      ? sql<{ bytes: number }>`select page_count * page_size as bytes from pragma_page_count(), pragma_page_size()`
      : sql<{ bytes: number }>`select pg_database_size(current_database()) as bytes`;
  return {
    countUndelivered: count(() =>
      db
        .selectFrom('deliveries')
        .select((eb) => eb.fn.countAll<number>().as('n'))
        .where('state', '=', 'pending')
        .where('round', '<', 2),
    ),
    getStoreBytes: count(() => ({ compile: () => bytes.compile(db) })),
  };
}
