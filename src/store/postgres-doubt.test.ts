import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { describeOnPostgres } from '../../test/helpers/postgres.ts';
import { startPostgres } from '../../test/helpers/postgres-server.ts';
import { until } from '../../test/helpers/until.ts';
import { POSTGRES_LIMITS } from './postgres-connection.ts';
import { IDENTITY, PostgresConnections, type TransactionIdentity } from './postgres-connections.ts';

describeOnPostgres('a commit in doubt', () => {
  async function server() {
    const started = await startPostgres();
    if ('unavailable' in started) throw new Error(started.unavailable);
    const connections = new PostgresConnections({ url: started.url }, POSTGRES_LIMITS, {
      info: () => {},
      warn: () => {},
    });
    onTestFinished(async () => {
      await connections.close();
      await started.stop();
    });
    return { ...started, connections };
  }

  /** A transaction that has its id and is still open. */
  async function begin(url: string) {
    const client = new pg.Client({ connectionString: url });
    client.on('error', () => {}); // The server is about to crash.
    await client.connect();
    const { rows } = await client.query(`begin; select ${IDENTITY}`).then((results) => (results as never)[1]);
    return { client, identity: (rows as TransactionIdentity[])[0] as TransactionIdentity };
  }

  /** Commits other transactions until one of them has got this id. */
  async function reuse(url: string, id: string): Promise<'reused' | 'passed over'> {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    try {
      for (;;) {
        const { rows } = await client.query('select pg_current_xact_id()::text as xid');
        if (BigInt(rows[0].xid) >= BigInt(id)) return rows[0].xid === id ? 'reused' : 'passed over';
      }
    } finally {
      await client.end();
    }
  }

  const soon = () => performance.now() + 10_000;

  test.for([
    ['one of its processes', ({ pid }: TransactionIdentity) => process.kill(pid, 'SIGKILL')],
    ['the whole server', (_: TransactionIdentity, crash: () => void) => crash()],
  ] as const)('is not taken for the transaction that got its id after a crash of %s', async ([, kill]) => {
    const { url, crash, connections } = await server();
    const { client, identity } = await begin(url);
    const lost = new Promise((resolve) => client.once('end', resolve));
    kill(identity, crash);
    await lost;
    expect(await until('the server is back', () => reuse(url, identity.xid).catch(() => null))).toBe('reused');
    expect(await connections.outcomeOf(identity, soon())).toBe('unknown');
  });

  test('is decided as long as the server lives', async () => {
    const { url, connections } = await server();
    for (const [end, outcome] of [
      ['commit', 'committed'],
      ['rollback', 'aborted'],
    ] as const) {
      const { client, identity } = await begin(url);
      await client.query(end);
      await client.end();
      expect(await connections.outcomeOf(identity, soon())).toBe(outcome);
    }
  });
});
