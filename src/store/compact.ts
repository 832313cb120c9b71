import { statSync } from 'node:fs';
import Database from 'better-sqlite3';

/**
 * Rewrites a SQLite file without its free pages. Others can read meanwhile; writers wait. Returns its size before and
 * after.
 */
export function compactFile(path: string): { readonly before: number; readonly after: number } {
  const before = sizeOf(path);
  const database = new Database(path, { fileMustExist: true, timeout: 10_000 });
  try {
    database.exec('vacuum');
    // The file only shrinks when the log is checkpointed.
    database.pragma('wal_checkpoint(truncate)');
  } finally {
    database.close();
  }
  return { before, after: sizeOf(path) };
}

function sizeOf(path: string): number {
  return ['', '-wal'].reduce((sum, end) => sum + (statSync(path + end, { throwIfNoEntry: false })?.size ?? 0), 0);
}
