import { join } from 'node:path';
import Database from 'better-sqlite3';

/** Reads the store of a home, while its daemon runs or afterwards. */
export function queryStore<T>(home: string, sql: string): T[] {
  const db = new Database(join(home, 'substrat.db'), { readonly: true });
  try {
    return db.prepare(sql).all() as T[];
  } finally {
    db.close();
  }
}
