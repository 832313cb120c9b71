import { Changes } from './changes.ts';
import { foldChunkTotals } from './chunk-totals.ts';
import { createTx } from './create-tx.ts';
import { migrate } from './migrate.ts';
import { type Connection, POSTGRES_LIMITS, type PostgresLimits, type PostgresPlace } from './postgres-connection.ts';
import { PostgresConnections } from './postgres-connections.ts';
import { openError } from './postgres-errors.ts';
import { PostgresListener } from './postgres-listener.ts';
import { EVERYTHING, WRITE_LOCK } from './postgres-locks.ts';
import { PostgresWriters } from './postgres-writers.ts';
import type { Change, Store, StoreLog, Tx } from './store.ts';

export interface PostgresOptions {
  readonly log?: StoreLog | undefined;
  readonly limits?: Partial<PostgresLimits> | undefined;
}

export async function openPostgres(
  place: PostgresPlace,
  { log = SILENT, limits }: PostgresOptions = {},
): Promise<Store> {
  const connections = new PostgresConnections(place, { ...POSTGRES_LIMITS, ...limits }, log);
  const transactions = new WeakMap<Connection, Tx>();
  const read = <T>(work: (tx: Tx) => Promise<T>): Promise<T> =>
    connections.read((connection) => {
      const tx =
        transactions.get(connection) ??
        createTx('postgres', connection.execute, { seq: 0, events: 0, runnable: false });
      transactions.set(connection, tx);
      return work(tx);
    });
  const changes = new Changes({
    pollMs: connections.limits.pollMs,
    lastEvent: () => {
      listener.check();
      return read((tx) => tx.events.getEventCounter());
    },
  });
  const listener = new PostgresListener(connections, {
    onHint: (hint) => changes.tell(readHint(hint)),
    onNumbered: (seq) => changes.tell({ seq, runnable: false }),
    onConnected: () => void changes.look(),
  });
  try {
    await bringUpToDate(connections);
    await listener.connect();
  } catch (error) {
    listener.close();
    await connections.close();
    throw openError(error);
  }

  const writers = new PostgresWriters(connections, ({ runnable }) => {
    changes.tell({ seq: changes.told, runnable });
    listener.announce(runnable);
  });
  return {
    engine: 'postgres',
    read,
    write: (work, ...like) => writers.write(work, like),
    onChange: (listen) => changes.listen(listen),
    whisper: (text) => listener.whisper(text),
    onWhisper: (listen) => listener.onWhisper(listen),
    commits: () => writers.commits,
    roundTrips: () => connections.roundTrips,
    problem: () => null,
    close: async () => {
      changes.stop();
      await writers.close();
      await listener.finish();
      await connections.close();
    },
  };
}

const SILENT: StoreLog = { info: () => {}, warn: () => {} };

async function bringUpToDate(connections: PostgresConnections): Promise<void> {
  const connection = await connections.connect('migration');
  try {
    await connection.execute('begin', []);
    await connection.execute(`select pg_advisory_xact_lock(${WRITE_LOCK})`, []);
    await connection.execute(`select set_config('substrat.locks', '${EVERYTHING}', true)`, []);
    await migrate(connection.execute, 'postgres');
    await foldChunkTotals(connection.execute);
    await connection.commit();
  } finally {
    connection.leave();
  }
}

function readHint(hint: string): Change {
  const [seq, runnable] = hint.split(' ');
  return { seq: Number(seq), runnable: runnable === '1' };
}
