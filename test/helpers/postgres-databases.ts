import pg from 'pg';
import { openStore } from '../../src/store/open.ts';

export interface Databases {
  /** The URL of an empty database with the newest schema. */
  take(): Promise<string>;
  /** Makes it available again; closes remaining connections. */
  giveBack(url: string): Promise<void>;
}

/** A test's rows are few and its connections new: by default, the server plans joins longer than it executes them. */
const LITTLE_PLANNING = ['plan_cache_mode = force_generic_plan', 'join_collapse_limit = 1', 'from_collapse_limit = 1'];

/**
 * Databases that are reused: emptying one takes a hundredth of the time of creating one. `server` is the URL of the
 * database `postgres`.
 */
export function createDatabases(server: string): Databases {
  const free: string[] = [];
  let made = 0;
  return {
    take: async () => {
      const ready = free.pop();
      if (ready !== undefined) return ready;
      made += 1;
      const url = new URL(server);
      url.pathname = `shared_${made}`;
      await connected(server, async (client) => {
        await client.query(`create database ${url.pathname.slice(1)}`);
        for (const setting of LITTLE_PLANNING)
          await client.query(`alter database ${url.pathname.slice(1)} set ${setting}`);
      });
      await (await openStore({ url: url.href })).close();
      await connected(url.href, rememberContent);
      return url.href;
    },
    giveBack: async (url) => {
      await connected(url, (client) => client.query('select reset_for_test()'));
      free.push(url);
    },
  };
}

/** The rows that migrations insert, and how to restore them, are stored in the database itself. */
async function rememberContent(client: pg.Client): Promise<void> {
  const names = async (sql: string) => (await client.query<{ name: string }>(sql)).rows.map(({ name }) => name);
  const tables = await names("select tablename as name from pg_tables where schemaname = 'public'");
  const sequences = await names("select sequencename as name from pg_sequences where schemaname = 'public'");
  const reset: string[] = [];
  await client.query('create schema pristine');
  for (const table of tables) {
    const { rowCount } = await client.query(`select from ${table} limit 1`);
    reset.push(`delete from public.${table};`);
    if (rowCount === 0) continue;
    await client.query(`create table pristine.${table} as table public.${table}`);
    reset.push(`insert into public.${table} table pristine.${table};`);
  }
  for (const sequence of sequences) reset.push(`perform setval('public.${sequence}', 1, false);`);
  await client.query(`create function reset_for_test() returns void language plpgsql set session_replication_role = replica as $$
    begin
      perform pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid();
      ${reset.join('\n')}
    end $$`);
}

async function connected<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
