import Database from 'better-sqlite3';
import { NEWEST_SCHEMA } from './migrate.ts';
import { versionOf } from './sqlite-dump.ts';

export interface StoreCheck {
  /** 0 where no daemon has been yet. */
  readonly version: number;
  readonly newest: number;
  /** What SQLite finds broken; null when nothing is. */
  readonly damage: string | null;
}

/** Looks at a SQLite store without changing it. */
export function checkStore(path: string): StoreCheck {
  const database = new Database(path, { readonly: true, timeout: 1000 });
  try {
    const found = database.pragma('quick_check(1)', { simple: true }) as string;
    return { version: versionOf(database), newest: NEWEST_SCHEMA, damage: found === 'ok' ? null : found };
  } finally {
    database.close();
  }
}
