import { Changes } from './changes.ts';
import { SharedCommits } from './commits.ts';
import { createTx } from './create-tx.ts';
import { migrate } from './migrate.ts';
import { type Connection, POSTGRES_LIMITS, type PostgresLimits } from './postgres-connection.ts';
import { PostgresConnections, PostgresListener } from './postgres-connections.ts';
import { openError } from './postgres-errors.ts';
import { PostgresWriter, WRITE_LOCK } from './postgres-writer.ts';
import type { Change, Store, StoreLog, Tx } from './store.ts';

export interface PostgresOptions {
  readonly log?: StoreLog | undefined;
  readonly limits?: Partial<PostgresLimits> | undefined;
}

export async function openPostgres(url: string, { log = SILENT, limits }: PostgresOptions = {}): Promise<Store> {
  const connections = new PostgresConnections(url, { ...POSTGRES_LIMITS, ...limits }, log);
  const transactions = new WeakMap<Connection, Tx>();
  const read = <T>(work: (tx: Tx) => Promise<T>): Promise<T> =>
    connections.read((connection) => {
      const tx = transactions.get(connection) ?? createTx('postgres', connection.execute, { seq: 0, runnable: false });
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

  const onCommit = (change: Change): void => {
    changes.tell(change);
    listener.notify(writeHint(change));
  };
  const commits = new SharedCommits(new PostgresWriter(connections), onCommit, connections.limits.batchMs);
  return {
    engine: 'postgres',
    read,
    write: (work) => commits.write(work),
    onChange: (listen) => changes.listen(listen),
    commits: () => commits.commits,
    problem: () => null,
    close: async () => {
      changes.stop();
      listener.close();
      await commits.close();
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
    await migrate(connection.execute, 'postgres');
    await connection.commit();
  } finally {
    connection.leave();
  }
}

function writeHint({ seq, runnable }: Change): string {
  return `${seq} ${runnable ? 1 : 0}`;
}

function readHint(hint: string): Change {
  const [seq, runnable] = hint.split(' ');
  return { seq: Number(seq), runnable: runnable === '1' };
}
