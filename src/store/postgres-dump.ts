import type pg from 'pg';
import { SubstratError } from '../core/errors.ts';
import type { Counter, Load, Row, Snapshot } from './dump.ts';
import { finishLoad } from './finish-load.ts';
import { knownTables, migrate } from './migrate.ts';
import { connectAlone } from './postgres-connection.ts';
import { openError } from './postgres-errors.ts';
import { EVERYTHING, WRITE_LOCK } from './postgres-locks.ts';
import type { Execute } from './query.ts';

/** Bytes of rows per fetch, estimated from the previous rows. */
const PAGE = 500_000;
const MOST_ROWS = 2_000;
const VERSION = 'schema_version';
/** An event that has no number yet is not announced, and the order of insertion means nothing elsewhere. */
const ROWS: Readonly<Record<string, string>> = {
  events: 'select seq, type, at, agent_id, channel_id, data from events where seq is not null',
};
/** The full-text indexes, and what a trigger counts in them. */
const DERIVED = ['passage_words', 'chunk_words', 'chunk_totals'];

export async function openPostgresSnapshot(url: string): Promise<Snapshot> {
  const client = await connect(url);
  try {
    await client.query('begin isolation level repeatable read read only');
    const tables = await tablesOf(client);
    const versions = tables.has(VERSION)
      ? (await client.query<{ version: number }>(`select version from ${VERSION}`)).rows
      : [];
    return {
      engine: 'postgres',
      version: versions[0]?.version ?? 0,
      tables: [...tables.keys()].filter((name) => name !== VERSION),
      counters: await countersOf(client),
      rows: (table) => pagesOf(client, table),
      close: () => client.end(),
    };
  } catch (error) {
    await client.end();
    throw error;
  }
}

export async function openPostgresLoad(
  url: string,
  { version, replace }: { readonly version: number; readonly replace: boolean },
): Promise<Load> {
  const client = await connect(url);
  const execute: Execute = async (text, values) => {
    const result = await client.query<Row>({ text, values: values as unknown[] });
    return { rows: result.rows, changes: result.rowCount ?? 0 };
  };
  const abort = async () => {
    await client.query('rollback').catch(() => {});
    await client.end();
  };
  try {
    await client.query('begin');
    await client.query(`select pg_advisory_xact_lock(${WRITE_LOCK})`);
    await client.query(`select set_config('substrat.locks', '${EVERYTHING}', true)`);
    await clear(client, replace);
    await migrate(execute, 'postgres', version);
    const tables = await tablesOf(client);
    tables.delete(VERSION);
    // Rows come in any order; foreign keys are recreated, and checked, at the end.
    const references = await dropReferences(client);
    for (const table of tables.keys()) await client.query(`delete from ${quoted(table)}`);
    return {
      tables,
      insert: (table, rows) => insertRows(client, table, [...(tables.get(table) ?? [])], rows),
      finish: async (finishing) => {
        for (const { table, value } of finishing.counters) {
          await client.query("select setval(pg_get_serial_sequence($1, 'id'), greatest($2::bigint, 1))", [
            table,
            value,
          ]);
        }
        for (const reference of references) await client.query(reference).catch(refuseReference);
        await finishLoad(execute, 'postgres', finishing);
      },
      commit: async () => {
        await client.query('commit');
        await client.end();
      },
      abort,
    };
  } catch (error) {
    await abort();
    throw error;
  }
}

async function connect(url: string): Promise<pg.Client> {
  try {
    return await connectAlone({ url }, 'backup');
  } catch (error) {
    throw openError(error);
  }
}

async function tablesOf(client: pg.Client): Promise<Map<string, Set<string>>> {
  const { rows } = await client.query<{ table: string; column: string }>(
    `select c.table_name as "table", c.column_name as "column"
     from information_schema.columns c join information_schema.tables t using (table_schema, table_name)
     where c.table_schema = current_schema() and t.table_type = 'BASE TABLE' order by 1, c.ordinal_position`,
  );
  const tables = new Map<string, Set<string>>();
  const known = knownTables();
  for (const { table, column } of rows) {
    if (DERIVED.includes(table) || (table !== VERSION && !known.has(table))) continue;
    tables.set(table, (tables.get(table) ?? new Set()).add(column));
  }
  return tables;
}

async function countersOf(client: pg.Client): Promise<Counter[]> {
  const { rows } = await client.query<{ table: string; name: string }>(
    `select table_name as "table", pg_get_serial_sequence(table_name, column_name) as name
     from information_schema.columns where table_schema = current_schema() and is_identity = 'YES'`,
  );
  const counters: Counter[] = [];
  const known = knownTables();
  for (const { table, name } of rows) {
    if (!known.has(table) || table in ROWS) continue;
    const found = await client.query<{ value: number }>(
      `select case when is_called then last_value else 0 end as value from ${name}`,
    );
    counters.push({ table, value: found.rows[0]?.value ?? 0 });
  }
  return counters;
}

async function* pagesOf(client: pg.Client, table: string): AsyncGenerator<readonly Row[]> {
  const rows = ROWS[table] ?? `select * from ${quoted(table)}`;
  await client.query(`declare dump no scroll cursor for ${rows}`);
  for (let count = 20; ; ) {
    const { rows: page } = await client.query<Row>(`fetch ${count} from dump`);
    if (page.length === 0) break;
    yield page;
    const bytes = page.reduce((sum, row) => sum + sizeOf(row), 0);
    count = Math.max(1, Math.min(MOST_ROWS, Math.floor((PAGE * page.length) / Math.max(bytes, 1))));
  }
  await client.query('close dump');
}

function sizeOf(row: Row): number {
  let size = 0;
  for (const value of Object.values(row))
    size += typeof value === 'object' ? (value?.length ?? 0) : String(value).length;
  return size;
}

/** JSON carries a whole page in one parameter; bytes are in PostgreSQL's text format. */
async function insertRows(client: pg.Client, table: string, columns: string[], rows: readonly Row[]): Promise<void> {
  const text = JSON.stringify(
    rows.map((row) => Object.fromEntries(Object.entries(row).map(([key, value]) => [key, asText(value)]))),
  );
  // Another engine's rows may lack a column that has a default.
  const names = columns
    .filter((column) => column in (rows[0] ?? {}))
    .map(quoted)
    .join(', ');
  const from = `select ${names} from json_populate_recordset(null::${quoted(table)}, $1)`;
  await client.query(`insert into ${quoted(table)} (${names}) ${from}`, [text]);
}

function asText(value: Row[string]): string | number | null {
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString('hex')}`;
  // PostgreSQL rejects NUL.
  return typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '\ufffd') : value;
}

/** A database that contains a store is not overwritten unless requested. Tables of other programs stay. */
async function clear(client: pg.Client, replace: boolean): Promise<void> {
  const there = await tablesOf(client);
  if (!there.has(VERSION)) return;
  if (!replace) {
    const message =
      'The database of [db] url already contains a store. Set another database, or add --force to replace that store.';
    throw new SubstratError('conflict', message);
  }
  for (const table of [...knownTables(), VERSION]) await client.query(`drop table if exists ${quoted(table)} cascade`);
}

/** Returns the statements that recreate them. */
async function dropReferences(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ table: string; name: string; definition: string }>(
    `select conrelid::regclass::text as "table", quote_ident(conname) as name, pg_get_constraintdef(oid) as definition
     from pg_constraint where contype = 'f' and connamespace = current_schema()::regnamespace`,
  );
  const known = knownTables();
  const found = rows.filter(({ table }) => known.has(table));
  for (const { table, name } of found) await client.query(`alter table ${table} drop constraint ${name}`);
  return found.map(({ table, name, definition }) => `alter table ${table} add constraint ${name} ${definition}`);
}

function refuseReference(error: unknown): never {
  const { detail = '', message } = error as { detail?: string; message: string };
  const text = `The backup cannot be restored: a row refers to one that is not in it (${detail || message}).`;
  throw new SubstratError('store', text, { cause: error });
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
