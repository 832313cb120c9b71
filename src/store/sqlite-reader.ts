import { parentPort, workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';

/** A thread that reads: one transaction at a time, whose snapshot begins with its first statement. */

export type ToReader = 'begin' | 'end' | { readonly sql: string; readonly parameters: readonly unknown[] };
export type FromReader =
  | 'begun'
  | 'ended'
  | { readonly rows: readonly unknown[] }
  | { readonly failed: string; readonly code: string | null };

const MOST_STATEMENTS = 200;

const { path } = workerData as { readonly path: string };
const database = new Database(path, { readonly: true, timeout: 1000 });
database.pragma('temp_store = memory');
database.pragma('cache_size = -16384');
const statements = new Map<string, Database.Statement>();

parentPort?.on('message', (message: ToReader) => parentPort?.postMessage(answer(message)));

function answer(message: ToReader): FromReader {
  try {
    if (message === 'begin') {
      // A job that failed may have left its transaction open.
      if (database.inTransaction) database.exec('rollback');
      database.exec('begin');
      return 'begun';
    }
    if (message === 'end') {
      database.exec('commit');
      return 'ended';
    }
    return { rows: statementOf(message.sql).all(...message.parameters) };
  } catch (error) {
    return { failed: (error as Error).message, code: (error as { code?: string }).code ?? null };
  }
}

function statementOf(sql: string): Database.Statement {
  let statement = statements.get(sql);
  if (!statement) {
    // Queries whose shape depends on their arguments would otherwise accumulate.
    if (statements.size >= MOST_STATEMENTS) statements.clear();
    statement = database.prepare(sql);
    statements.set(sql, statement);
  }
  return statement;
}
