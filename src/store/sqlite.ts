import Database from 'better-sqlite3';
import { SubstratError } from '../core/errors.ts';
import type { BatchState } from './batch.ts';
import { SharedCommits, type WriteConnection } from './commits.ts';
import { isContextHarness } from './context-harness.ts';
import { createTx } from './create-tx.ts';
import { migrate, NEWEST_SCHEMA } from './migrate.ts';
import type { Execute } from './query.ts';
import { type ExecuteNow, remembered } from './remembered.ts';
import { versionOf } from './sqlite-version.ts';
import type { Change, Store, StoreLog } from './store.ts';
import { StoreFile } from './store-file.ts';

/** How long a writer waits for another process (`ctx`, a backup) before it fails. */
const BUSY_LIMIT_MS = 30_000;

export interface SqliteOptions {
  readonly durability: 'full' | 'normal';
  readonly watch: boolean;
  readonly threads: boolean;
  readonly log?: StoreLog | undefined;
  readonly beforeUpgrade?: ((from: number) => Promise<void>) | undefined;
}

/** `path` is a file, or `:memory:`. */
export async function openSqlite(path: string, options: SqliteOptions): Promise<Store> {
  const database = openDatabase(path);
  const execute = remembered(executor(database), versions(database));
  const batch: BatchState = { seq: 0, events: 0, runnable: false };
  let file: StoreFile | null = null;
  const connection: WriteConnection = {
    tx: createTx('sqlite', execute, batch),
    batch,
    execute,
    begin: async () => {
      await retryBusy(() => execute('begin immediate', []));
      try {
        file?.checkLog();
      } catch (error) {
        execute('rollback', []);
        throw error;
      }
    },
    commit: async () => void execute('commit', []),
    rollback: async () => void execute('rollback', []),
    inTransaction: () => database.inTransaction,
  };
  try {
    await prepare(database, connection, options);
  } catch (error) {
    database.close();
    throw openError(path, error);
  }

  const listeners = new Set<(change: Change) => void>();
  const commits = new SharedCommits(connection, (change) => {
    for (const listener of listeners) listener(change);
  });
  // In memory there is no second connection: reads queue with the writes.
  const reader = path === ':memory:' ? null : new Database(path, { readonly: true, timeout: 1000 });
  reader?.pragma('temp_store = memory');
  reader?.pragma('cache_size = -4096');
  const readTx =
    reader && createTx('sqlite', committedReader(database, reader), { seq: 0, events: 0, runnable: false });
  const readers = options.threads && reader ? (await import('./sqlite-readers.ts')).createReaders(path) : null;
  if (options.watch && reader) file = new StoreFile(path, options.log);
  const write: Store['write'] = (work) => {
    const problem = file?.problem ?? null;
    return problem === null ? commits.write(work) : Promise.reject(new SubstratError('store', problem));
  };
  return {
    engine: 'sqlite',
    read: (work, { long = false, signal } = {}) => {
      if (long && readers) return readers.read(work, signal);
      return readTx ? work(readTx) : commits.write(work);
    },
    write,
    whisper: () => {},
    onWhisper: () => () => {},
    onChange: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    commits: () => commits.commits,
    roundTrips: () => 0,
    problem: () => file?.problem ?? null,
    close: async () => {
      await commits.close();
      await readers?.close();
      // Already closed: closing a descriptor twice could close someone else's.
      if (!database.open) return;
      file?.stop();
      // SQLite would delete the log by name, which may belong to another store by now.
      if (file?.problem) return file.rescue(database);
      reader?.close();
      database.close();
      file?.close();
    },
  };
}

function openDatabase(path: string): Database.Database {
  // The first one looks for its binary in a diagnostic report, whose stack trace would take longer than the rest.
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    // SQLite's own waiting would block the whole daemon: `retryBusy` waits instead.
    return new Database(path, { timeout: 0 });
  } catch (error) {
    throw openError(path, error);
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

async function prepare(
  database: Database.Database,
  connection: WriteConnection,
  { durability, beforeUpgrade }: SqliteOptions,
): Promise<void> {
  // Before anything is written.
  await retryBusy(() => refuseForeign(database));
  await retryBusy(() => {
    database.pragma('journal_mode = wal');
    database.pragma(`synchronous = ${durability}`);
    database.pragma('foreign_keys = on');
    // Agents write the same pages repeatedly: with a checkpoint a quarter as often, each page is copied once for four
    // times the writes.
    database.pragma('wal_autocheckpoint = 4000');
    // Caches what searches of a large memory read. A sync (`normal`) reads nothing twice.
    if (durability === 'full') database.pragma('cache_size = -65536');
    // A temporary file would stay forever if we are killed while it is written.
    database.pragma('temp_store = memory');
  });
  const version = versionOf(database);
  if (version > 0 && version < NEWEST_SCHEMA) await beforeUpgrade?.(version);
  await connection.begin();
  try {
    await migrate(connection.execute, 'sqlite');
    await connection.execute('commit', []);
  } catch (error) {
    if (database.inTransaction) await connection.execute('rollback', []);
    throw error;
  }
}

function refuseForeign(database: Database.Database): void {
  if (!isContextHarness(database)) return;
  const kept = `${database.name}.context-harness`;
  const message = `${database.name} is a store of Context Harness. Run \`ctx import-store\` to import its documents; the file is kept as ${kept}.`;
  throw new SubstratError('config', message);
}

/** Prepares each statement once. */
function preparer(database: Database.Database): (sql: string) => Database.Statement {
  const statements = new Map<string, Database.Statement>();
  return (sql) => {
    let statement = statements.get(sql);
    if (!statement) {
      statement = database.prepare(sql);
      statements.set(sql, statement);
    }
    return statement;
  };
}

/** Changes with every commit of another connection. */
function versions(database: Database.Database): () => unknown {
  let version: Database.Statement | null = null;
  return () => {
    version ??= database.prepare('pragma data_version').pluck();
    return version.get();
  };
}

function executor(database: Database.Database): ExecuteNow {
  const statementOf = preparer(database);
  return (sql, parameters) => {
    const statement = statementOf(sql);
    if (statement.reader) {
      const rows = statement.all(...parameters);
      return { rows, changes: rows.length };
    }
    return { rows: [], changes: statement.run(...parameters).changes };
  };
}

/**
 * Reads what is committed. Between transactions the writing connection can do that, and its cache stays warm; the
 * second connection, which does not see the current write, loses its cache with every commit of the first.
 */
function committedReader(database: Database.Database, reader: Database.Database): Execute {
  const beside = executor(reader);
  const statementOf = preparer(database);
  return (sql, parameters) => {
    if (database.inTransaction) return beside(sql, parameters);
    const statement = statementOf(sql);
    // A write outside a transaction is a bug; the read-only connection rejects it.
    if (!statement.reader || !statement.readonly) return beside(sql, parameters);
    try {
      const rows = statement.all(...parameters);
      return { rows, changes: rows.length };
    } catch (error) {
      // Another process is recovering after a crash: the second connection waits for it.
      if (!isBusy(error)) throw error;
      return beside(sql, parameters);
    }
  };
}

async function retryBusy(action: () => unknown): Promise<void> {
  const giveUp = performance.now() + BUSY_LIMIT_MS;
  for (let pause = 1; ; pause = Math.min(pause * 2, 50)) {
    try {
      action();
      return;
    } catch (error) {
      if (!isBusy(error) || performance.now() > giveUp) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

/** SQLITE_BUSY, or SQLITE_BUSY_RECOVERY while another process recovers after a crash. */
function isBusy(error: unknown): boolean {
  return (error as { code?: string }).code?.startsWith('SQLITE_BUSY') ?? false;
}

function openError(path: string, error: unknown): SubstratError {
  if (error instanceof SubstratError) return error;
  const reason = (error as Error).message;
  return new SubstratError('store', `The store ${path} cannot be opened: ${reason}.`, { cause: error });
}
