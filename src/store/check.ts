import Database from 'better-sqlite3';
import { NEWEST_SCHEMA } from './migrate.ts';

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
    const hasVersion = database.prepare("select 1 from sqlite_schema where name = 'schema_version'").get();
    const version = hasVersion && database.prepare('select version from schema_version').pluck().get();
    return { version: Number(version ?? 0), newest: NEWEST_SCHEMA, damage: found === 'ok' ? null : found };
  } finally {
    database.close();
  }
}
