import { readFileSync } from 'node:fs';
import type Database from 'better-sqlite3';
import pg from 'pg';
import { toBytes } from '../src/knowledge/vector.ts';
import { indexedColumns } from '../src/store/fulltext.ts';
import { openStore } from '../src/store/open.ts';
import { EVERYTHING } from '../src/store/postgres-locks.ts';
import type { Store } from '../src/store/store.ts';
import { startPostgres } from '../test/helpers/postgres-server.ts';
import type { Bench } from './measure.ts';

const PAGE = 2_000;

interface Meaning {
  readonly model: string;
  readonly dimension: number;
  /** All vectors, concatenated. */
  readonly vectors: Float32Array;
}

interface Filled {
  readonly store: Store;
  readonly client: pg.Client;
  /** The CPU time of the server for all its clients so far; 0 where the system does not tell. */
  readonly serverMs: () => Promise<number>;
}

/** Copies a SQLite store to a private PostgreSQL; null, with a message, if it is not available. */
export async function fillPostgres(
  from: Database.Database,
  meaning: Meaning,
  defer: Bench['defer'],
): Promise<Filled | null> {
  const server = await startPostgres();
  if ('unavailable' in server) {
    console.error(`search on PostgreSQL is left out: ${server.unavailable}`);
    return null;
  }
  defer(() => server.stop());
  const store = await openStore({ url: server.url });
  defer(() => store.close());
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  // Rows are written directly, without the locks of the store's own writers.
  await client.query(`select set_config('substrat.locks', '${EVERYTHING}', false)`);
  defer(() => client.end());
  // Creating an index at once is faster than row by row.
  await client.query('drop index chunk_words_index');
  await copyAll(from, meaning, client);
  await client.query('create index chunk_words_index on chunk_words using gin (words)');
  await client.query('analyze');
  return { store, client, serverMs: () => cpuOfServer(client) };
}

async function cpuOfServer(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>(
    "select pid from pg_stat_activity where backend_type = 'client backend'",
  );
  const nanoseconds = rows.map(({ pid }) => {
    try {
      return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]);
    } catch {
      return 0;
    }
  });
  return nanoseconds.reduce((sum, ns) => sum + ns, 0) / 1e6;
}

async function copyAll(
  from: Database.Database,
  { model, dimension, vectors }: Meaning,
  client: pg.Client,
): Promise<void> {
  const count = vectors.length / dimension;
  const documents = from.prepare('select id, title from documents').all() as { id: string; title: string }[];
  await client.query(
    `insert into documents (id, source, source_id, version, hash, content_type, created_at, updated_at, indexed_at, title, tags, metadata, body)
     select id, 'bench:docs', id, '1', '1', 'text/plain', 0, 0, 0, title, '[]', '{}', '' from unnest($1::text[], $2::text[]) as given (id, title)`,
    [documents.map(({ id }) => id), documents.map(({ title }) => title)],
  );
  const titles = new Map(documents.map(({ id, title }) => [id, title]));
  const page = from.prepare('select id, document_id, idx, text from chunks where id > ? order by id limit ?');
  for (let after = 0; after < count; after += PAGE) {
    const rows = page.all(after, PAGE) as { id: number; document_id: string; idx: number; text: string }[];
    const ids = rows.map(({ id }) => id);
    await client.query(
      `insert into chunks (id, document_id, idx, hash, place, text) select id, document_id, idx, '1', '{}', text
       from unnest($1::bigint[], $2::text[], $3::int[], $4::text[]) as given (id, document_id, idx, text)`,
      [ids, rows.map((row) => row.document_id), rows.map(({ idx }) => idx), rows.map(({ text }) => text)],
    );
    const words = rows.map(
      ({ document_id, text }) =>
        indexedColumns('postgres', { title: titles.get(document_id) as string, words: text }).words,
    );
    await client.query(
      'insert into chunk_words (rowid, words) select * from unnest($1::bigint[], $2::text[]::tsvector[])',
      [ids, words],
    );
    const bytes = ids.map((id) => toBytes(vectors.subarray((id - 1) * dimension, id * dimension)));
    await client.query(
      `insert into chunk_vectors (chunk_id, model, dimension, hash, vector, seq)
       select id, $3, $4, '1', vector, id from unnest($1::bigint[], $2::bytea[]) as given (id, vector)`,
      [ids, bytes, model, dimension],
    );
  }
  await client.query('update vector_state set seq = $1', [count]);
}
