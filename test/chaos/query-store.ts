import { join } from 'node:path';
import Database from 'better-sqlite3';

/** Reads the store of a home, beside its daemon or after it. */
export function queryStore<T>(home: string, sql: string): T[] {
  const db = new Database(join(home, 'substrat.db'), { readonly: true });
  try {
    return db.prepare(sql).all() as T[];
  } finally {
    db.close();
  }
}
