import { join } from 'node:path';
import Database from 'better-sqlite3';
import pg from 'pg';

type Rows = Record<string, unknown[]>;

const urls = new Map<string, string>();

/** Records include refused calls, and a node updates its row every minute. */
const LEFT_OUT = new Set(['run_messages', 'nodes']);

/** Where the store of a home is, if it is not a file in it. */
export function noteStore(home: string, url: string): void {
  urls.set(home, url);
}

/**
 * Every row of the store except the records of runs, which include refused calls: a refused call must leave these
 * unchanged.
 */
export async function storeRows(home: string): Promise<Rows> {
  const url = urls.get(home);
  return url === undefined ? sqliteRows(home) : postgresRows(url);
}

function sqliteRows(home: string): Rows {
  const database = new Database(join(home, 'substrat.db'), { readonly: true });
  try {
    const tables = database.prepare("select name from sqlite_master where type = 'table' order by name").pluck().all();
    const told = (tables as string[]).filter((table) => !LEFT_OUT.has(table));
    return Object.fromEntries(told.map((table) => [table, database.prepare(`select * from ${table}`).all()]));
  } finally {
    database.close();
  }
}

/** One statement: there are many tables, and tests read them often. */
async function postgresRows(url: string): Promise<Rows> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows: tables } = await client.query<{ name: string }>(
      "select tablename as name from pg_tables where schemaname = 'public' order by 1",
    );
    const told = tables.filter(({ name }) => !LEFT_OUT.has(name));
    const parts = told.map(
      ({ name }) => `(select coalesce(json_agg(r order by r::text), '[]') from ${name} r) as "${name}"`,
    );
    return (await client.query(`select ${parts.join(', ')}`)).rows[0] as Rows;
  } finally {
    await client.end();
  }
}
