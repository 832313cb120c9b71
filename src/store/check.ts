import Database from 'better-sqlite3';
import { NEWEST_SCHEMA } from './migrate.ts';
import { versionOf } from './sqlite-dump.ts';

export interface StoreCheck {
  /** 0 where no daemon has been yet. */
  readonly version: number;
  readonly newest: number;
  /** What SQLite finds broken; null when nothing is. */
  readonly damage: string | null;
  /** Living agents that belong to another node than the one asked for. */
  readonly strangers: number;
}

/** Looks at a SQLite store without changing it. */
export function checkStore(path: string, nodeId: string): StoreCheck {
  const database = new Database(path, { readonly: true, timeout: 1000 });
  try {
    const found = database.pragma('quick_check(1)', { simple: true }) as string;
    const version = versionOf(database);
    const count = 'select count(*) from agents where terminated_at is null and node_id <> ?';
    const strangers = version === 0 || found !== 'ok' ? 0 : (database.prepare(count).pluck().get(nodeId) as number);
    return { version, newest: NEWEST_SCHEMA, damage: found === 'ok' ? null : found, strangers };
  } finally {
    database.close();
  }
}
