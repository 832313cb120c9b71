import Database from 'better-sqlite3';
import { SubstratError } from '../core/errors.ts';
import { type BatchState, SharedCommits, type WriteConnection } from './commits.ts';
import { migrate } from './migrate.ts';
import type { Execute } from './query.ts';
import type { Change, Store } from './store.ts';
import { createTx } from './tx.ts';

/** How long a writer waits for another process (`ctx`, a backup) before it gives up. */
const BUSY_LIMIT_MS = 30_000;

/** `path` is a file, or `:memory:`. */
export async function openSqlite(path: string, durability: 'full' | 'normal' = 'full'): Promise<Store> {
  const database = openDatabase(path);
  const execute = executor(database);
  const batch: BatchState = { seq: 0, runnable: false };
  const connection: WriteConnection = {
    tx: createTx('sqlite', execute, batch),
    batch,
    execute,
    begin: () => retryBusy(() => execute('begin immediate', [])),
    inTransaction: () => database.inTransaction,
  };
  try {
    await prepare(database, connection, durability);
  } catch (error) {
    database.close();
    throw openError(path, error);
  }

  const listeners = new Set<(change: Change) => void>();
  const commits = new SharedCommits(connection, (change) => {
    for (const listener of listeners) listener(change);
  });
  // A second connection sees only what is committed. In memory there is no second one: reads queue with the writes.
  const reader = path === ':memory:' ? null : new Database(path, { readonly: true, timeout: 1000 });
  reader?.pragma('temp_store = memory');
  const readTx = reader && createTx('sqlite', executor(reader), { seq: 0, runnable: false });
  return {
    engine: 'sqlite',
    read: (work) => (readTx ? work(readTx) : commits.write(work)),
    write: (work) => commits.write(work),
    onChange: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    commits: () => commits.commits,
    close: async () => {
      await commits.close();
      reader?.close();
      database.close();
    },
  };
}

function openDatabase(path: string): Database.Database {
  try {
    // SQLite's own waiting would block every agent of the daemon: `retryBusy` waits instead.
    return new Database(path, { timeout: 0 });
  } catch (error) {
    throw openError(path, error);
  }
}

async function prepare(
  database: Database.Database,
  connection: WriteConnection,
  durability: 'full' | 'normal',
): Promise<void> {
  await retryBusy(() => {
    database.pragma('journal_mode = wal');
    database.pragma(`synchronous = ${durability}`);
    database.pragma('foreign_keys = on');
    // Agents write the same pages again and again: copied over a quarter as often, each is copied for four times the writes.
    database.pragma('wal_autocheckpoint = 4000');
    // A temporary file stays for ever if we are killed while it is made.
    database.pragma('temp_store = memory');
  });
  await connection.begin();
  try {
    await migrate(connection.execute, 'sqlite');
    await connection.execute('commit', []);
  } catch (error) {
    if (database.inTransaction) await connection.execute('rollback', []);
    throw error;
  }
}

function executor(database: Database.Database): Execute {
  const statements = new Map<string, Database.Statement>();
  return (sql, parameters) => {
    let statement = statements.get(sql);
    if (!statement) {
      statement = database.prepare(sql);
      statements.set(sql, statement);
    }
    if (statement.reader) {
      const rows = statement.all(...parameters);
      return { rows, changes: rows.length };
    }
    return { rows: [], changes: statement.run(...parameters).changes };
  };
}

async function retryBusy(action: () => unknown): Promise<void> {
  const giveUp = Date.now() + BUSY_LIMIT_MS;
  for (let pause = 1; ; pause = Math.min(pause * 2, 50)) {
    try {
      action();
      return;
    } catch (error) {
      // SQLITE_BUSY, or SQLITE_BUSY_RECOVERY while another process cleans up after one that was killed.
      if (!(error as { code?: string }).code?.startsWith('SQLITE_BUSY') || Date.now() > giveUp) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

function openError(path: string, error: unknown): SubstratError {
  if (error instanceof SubstratError) return error;
  const reason = (error as Error).message;
  return new SubstratError('store', `The store ${path} cannot be opened: ${reason}.`, { cause: error });
}
