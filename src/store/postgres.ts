import pg from 'pg';
import { SubstratError } from '../core/errors.ts';
import { type BatchState, SharedCommits, type WriteConnection } from './commits.ts';
import { migrate } from './migrate.ts';
import type { Execute } from './query.ts';
import type { Change, Store, Tx } from './store.ts';
import { createTx } from './tx.ts';

/** One lock for all writers of all nodes, held to the commit: event numbers come without gaps, in commit order. */
const WRITE_LOCK = 7_331_001;
const CHANNEL = 'substrat';

const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
};

export async function openPostgres(url: string): Promise<Store> {
  const pool = new pg.Pool({ connectionString: url, max: 8, types });
  pool.on('error', () => {}); // an idle client that dies is replaced; whoever uses one hears of it by its query
  const writer = new WriterClient(url);
  const listeners = new Set<(change: Change) => void>();
  const tell = (change: Change): void => {
    for (const listener of listeners) listener(change);
  };
  let hints: Awaited<ReturnType<typeof listen>>;
  try {
    await writer.begin();
    await migrate(writer.execute, 'postgres');
    await writer.execute('commit', []);
    hints = await listen(url, tell);
  } catch (error) {
    await Promise.allSettled([writer.close(), pool.end()]);
    throw openError(error);
  }

  const commits = new SharedCommits(writer, (change) => {
    tell(change);
    hints.notify(change);
  });
  const readers = new WeakMap<pg.ClientBase, Tx>();
  return {
    engine: 'postgres',
    read: async (work) => {
      const client = await pool.connect();
      try {
        const tx = readers.get(client) ?? createTx('postgres', executor(client), { seq: 0, runnable: false });
        readers.set(client, tx);
        return await work(tx);
      } finally {
        client.release();
      }
    },
    write: (work) => commits.write(work),
    onChange: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    commits: () => commits.commits,
    close: async () => {
      await commits.close();
      await Promise.all([writer.close(), hints.close(), pool.end()]);
    },
  };
}

/** The connection that writes. It is made anew when it was lost; what was under way then has failed and said so. */
class WriterClient implements WriteConnection {
  readonly batch: BatchState = { seq: 0, runnable: false };
  readonly execute: Execute = (sql, parameters) => this.#run(sql, parameters);
  readonly tx: Tx = createTx('postgres', this.execute, this.batch);
  readonly #url: string;
  #client: pg.Client | null = null;
  #run: Execute = () => Promise.reject(new SubstratError('store', 'The store is not connected.'));
  #open = false;

  constructor(url: string) {
    this.#url = url;
  }

  async begin(): Promise<void> {
    if (!this.#client) await this.#connect();
    await this.execute('begin', []);
    this.#open = true;
    await this.execute(`select pg_advisory_xact_lock(${WRITE_LOCK})`, []);
  }

  inTransaction(): boolean {
    return this.#open && this.#client !== null;
  }

  async close(): Promise<void> {
    await this.#client?.end();
  }

  async #connect(): Promise<void> {
    // A node that stalls inside a transaction must not keep the others from writing.
    const client = new pg.Client({ connectionString: this.#url, types, idle_in_transaction_session_timeout: 15_000 });
    client.on('error', () => {
      if (this.#client === client) this.#client = null;
    });
    await client.connect();
    this.#client = client;
    const run = executor(client);
    this.#run = async (sql, parameters) => {
      const result = await run(sql, parameters);
      if (sql === 'commit' || sql === 'rollback') this.#open = false;
      return result;
    };
  }
}

function executor(client: pg.ClientBase): Execute {
  const names = new Map<string, string>();
  return async (text, values) => {
    const name = names.get(text) ?? `q${names.size}`;
    names.set(text, name);
    const result = await client.query({ name, text, values: values as unknown[] });
    // PostgreSQL takes a commit of a transaction that has failed, and rolls it back.
    if (text === 'commit' && result.command !== 'COMMIT') throw new Error('a statement had failed before');
    return { rows: result.rows, changes: result.rowCount ?? 0 };
  };
}

/** Hints from the other nodes. Losing one, or the connection, costs only the time to the next poll. */
async function listen(url: string, tell: (change: Change) => void) {
  const client = new pg.Client({ connectionString: url, types });
  client.on('error', () => {});
  await client.connect();
  const self = ((await client.query('select pg_backend_pid() as pid')).rows[0] as { pid: number }).pid;
  client.on('notification', ({ processId, payload }) => {
    if (processId === self || !payload) return;
    const [seq, runnable] = payload.split(' ');
    tell({ seq: Number(seq), runnable: runnable === '1' });
  });
  await client.query(`listen ${CHANNEL}`);
  let sending: Promise<unknown> = Promise.resolve();
  return {
    notify: ({ seq, runnable }: Change): void => {
      const send = () => client.query('select pg_notify($1, $2)', [CHANNEL, `${seq} ${runnable ? 1 : 0}`]);
      sending = sending.then(send).catch(() => {});
    },
    close: () => sending.then(() => client.end()),
  };
}

function openError(error: unknown): SubstratError {
  if (error instanceof SubstratError) return error;
  const reason = (error as Error).message || (error as { code?: string }).code;
  return new SubstratError(
    'store',
    `PostgreSQL cannot be opened: ${reason}. Check [db] url and that the server runs.`,
    {
      cause: error,
    },
  );
}
