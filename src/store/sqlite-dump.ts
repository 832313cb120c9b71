import { closeSync, fsyncSync, openSync } from 'node:fs';
import Database from 'better-sqlite3';
import { SubstratError } from '../core/errors.ts';
import type { Load, Row, Snapshot } from './dump.ts';
import { finishLoad } from './finish-load.ts';
import { migrate } from './migrate.ts';
import type { Execute } from './query.ts';
import { VERSION, versionOf } from './sqlite-version.ts';

/** Bytes of rows in memory at once, plus at most one row. */
const PAGE = 500_000;

/** The read transaction starts before anything is read and lasts until `close`, so everything is from one moment. */
export async function openSqliteSnapshot(path: string): Promise<Snapshot> {
  const database = new Database(path, { readonly: true, fileMustExist: true, timeout: 10_000 });
  try {
    database.exec('begin');
    const version = versionOf(database);
    return {
      engine: 'sqlite',
      version,
      tables: tablesOf(database),
      counters: countersOf(database),
      rows: (table) => pagesOf(database, table),
      close: async () => void database.close(),
    };
  } catch (error) {
    database.close();
    throw error;
  }
}

/** The file must be new: it has no journal while it is filled, and a failed load only leaves a file to remove. */
export async function openSqliteLoad(path: string, version: number): Promise<Load> {
  const database = new Database(path);
  database.pragma('journal_mode = off');
  database.pragma('synchronous = off');
  database.pragma('foreign_keys = off');
  const execute: Execute = (sql, parameters) => {
    const statement = database.prepare(sql);
    if (!statement.reader) return { rows: [], changes: statement.run(...parameters).changes };
    const rows = statement.all(...parameters);
    return { rows, changes: rows.length };
  };
  try {
    database.exec('begin');
    await migrate(execute, 'sqlite', version);
    const names = tablesOf(database);
    for (const table of names) database.exec(`delete from "${table}"`);
    return {
      tables: new Map(names.map((table) => [table, columnsOf(database, table)])),
      insert: async (table, rows) => insertRows(database, table, rows),
      finish: async (finishing) => {
        checkReferences(database);
        for (const { table, value } of finishing.counters) setCounter(database, table, value);
        await finishLoad(cached(database), 'sqlite', finishing);
        checkReferences(database);
      },
      commit: async () => {
        database.exec('commit');
        database.close();
        const file = openSync(path, 'r');
        fsyncSync(file);
        closeSync(file);
      },
      abort: async () => void database.close(),
    };
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Without SQLite's own tables and those of the full-text indexes. */
function tablesOf(database: Database.Database): string[] {
  const found = database.pragma('table_list') as { schema: string; name: string; type: string }[];
  return found
    .filter(({ schema, name, type }) => schema === 'main' && type === 'table' && !/^sqlite_/.test(name))
    .map(({ name }) => name)
    .filter((name) => name !== VERSION)
    .sort();
}

function columnsOf(database: Database.Database, table: string): Set<string> {
  const found = database.pragma(`table_info("${table}")`) as { name: string }[];
  return new Set(found.map(({ name }) => name));
}

function countersOf(database: Database.Database): { table: string; value: number }[] {
  const known = database.prepare("select 1 from sqlite_schema where name = 'sqlite_sequence'").get();
  if (!known) return [];
  return database.prepare('select name as "table", seq as value from sqlite_sequence').all() as never;
}

function setCounter(database: Database.Database, table: string, value: number): void {
  database.prepare('delete from sqlite_sequence where name = ?').run(table);
  database.prepare('insert into sqlite_sequence (name, seq) values (?, ?)').run(table, value);
}

async function* pagesOf(database: Database.Database, table: string): AsyncGenerator<readonly Row[]> {
  let page: Row[] = [];
  let size = 0;
  for (const row of database.prepare(`select * from "${table}"`).iterate() as Iterable<Row>) {
    page.push(row);
    for (const value of Object.values(row))
      size += typeof value === 'object' ? (value?.length ?? 0) : String(value).length;
    if (size < PAGE) continue;
    yield page;
    page = [];
    size = 0;
  }
  if (page.length > 0) yield page;
}

function insertRows(database: Database.Database, table: string, rows: readonly Row[]): void {
  const columns = [...columnsOf(database, table)];
  const names = columns.map((column) => `"${column}"`).join(', ');
  const statement = database.prepare(`insert into "${table}" (${names}) values (${columns.map(() => '?').join(', ')})`);
  for (const row of rows) statement.run(...columns.map((column) => row[column] ?? null));
}

function checkReferences(database: Database.Database): void {
  const [broken] = database.pragma('foreign_key_check') as { table: string; parent: string }[];
  if (!broken) return;
  const message = `The backup cannot be restored: a row of ${broken.table} refers to a row of ${broken.parent} that is not in it.`;
  throw new SubstratError('store', message);
}

/** Prepares each statement once: the full-text indexes need one per row. */
function cached(database: Database.Database): Execute {
  const statements = new Map<string, Database.Statement>();
  return (sql, parameters) => {
    const statement = statements.get(sql) ?? database.prepare(sql);
    statements.set(sql, statement);
    if (!statement.reader) return { rows: [], changes: statement.run(...parameters).changes };
    const rows = statement.all(...parameters);
    return { rows, changes: rows.length };
  };
}
