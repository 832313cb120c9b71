import { join } from 'node:path';
import Database from 'better-sqlite3';
import pg from 'pg';

type Rows = Record<string, unknown[]>;

const urls = new Map<string, string>();

/** Records tell of refused calls too, and a node says every minute that it is alive. */
const LEFT_OUT = new Set(['run_messages', 'nodes']);

/** Where the store of a home is, when it is not a file in it. */
export function noteStore(home: string, url: string): void {
  urls.set(home, url);
}

/** Every row of the store but the records of runs, which tell of refused calls too: what a refused call must leave as it was. */
export async function storeRows(home: string): Promise<Rows> {
  const url = urls.get(home);
  const query = url === undefined ? sqliteQuery(home) : await postgresQuery(url);
  try {
    const tables = (await query.all(query.tables)) as { name: string }[];
    const rows: Rows = {};
    for (const { name } of tables) if (!LEFT_OUT.has(name)) rows[name] = await query.all(`select * from ${name}`);
    return rows;
  } finally {
    await query.close();
  }
}

interface Query {
  readonly tables: string;
  all(sql: string): Promise<unknown[]>;
  close(): Promise<void>;
}

function sqliteQuery(home: string): Query {
  const database = new Database(join(home, 'substrat.db'), { readonly: true });
  return {
    tables: "select name from sqlite_master where type = 'table' order by name",
    all: async (sql) => database.prepare(sql).all(),
    close: async () => void database.close(),
  };
}

async function postgresQuery(url: string): Promise<Query> {
  const types = {
    getTypeParser: (oid: number) => (oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid)),
  };
  const client = new pg.Client({ connectionString: url, types });
  await client.connect();
  const order = (rows: unknown[]) =>
    rows.map((row) => [JSON.stringify(row), row] as const).sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    tables: "select tablename as name from pg_tables where schemaname = 'public' order by tablename",
    all: async (sql) => order((await client.query(sql)).rows).map(([, row]) => row),
    close: () => client.end(),
  };
}
