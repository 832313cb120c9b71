import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { createDatabase, describeOnPostgres } from '../../test/helpers/postgres.ts';
import { createTx } from './create-tx.ts';
import { openStore } from './open.ts';
import { type Connection, connectAlone } from './postgres-connection.ts';

const statement = (sql: string, ...parameters: unknown[]) => ({ sql, parameters });

describeOnPostgres('statements that travel together', () => {
  let url: string;
  let connection: Connection;

  beforeEach(async () => {
    const database = await createDatabase();
    url = database.url;
    connection = await connectAlone({ url }, 'probe');
    onTestFinished(async () => {
      connection.leave();
      await database.drop();
    });
  });

  test('each has its rows, its number of changes and its command', async () => {
    const bytes = Buffer.from([0, 255, 92]);
    const flight = [
      statement('create temp table things (name text, data bytea, many text[])'),
      statement('insert into things values ($1, $2, $3), ($4, null, null)', 'a', bytes, ['x', 'y"\\ ,', null], null),
      statement('select name, data, many from things order by name'),
      statement('select 7::bigint as n where false'),
      statement('delete from things'),
    ];
    const results = await connection.send(flight);
    expect(results.map(({ command, changes }) => [command, changes])).toEqual([
      ['CREATE', 0],
      ['INSERT', 2],
      ['SELECT', 2],
      ['SELECT', 0],
      ['DELETE', 2],
    ]);
    const rows = [
      { name: 'a', data: bytes, many: ['x', 'y"\\ ,', null] },
      { name: null, data: null, many: null },
    ];
    expect(results[2]?.rows).toEqual(rows);
    // The second time nothing is described.
    const again = await connection.send(flight.slice(1));
    expect(again[1]?.rows).toEqual(rows);
  });

  test('nothing behind one that failed is executed, and all can be used again', async () => {
    await connection.execute('create temp table things (n integer check (n <> 2))', []);
    const insert = statement('insert into things values ($1)', 1);
    const wrong = { ...insert, parameters: [2] };
    const last = statement('insert into things values ($1 + 10)', 1);
    await expect(connection.send([insert, wrong, last])).rejects.toMatchObject({ code: '23514' });
    const count = async () => (await connection.execute('select count(*) as n from things', [])).rows;
    expect(await count()).toEqual([{ n: 0 }]);
    await connection.send([insert, last]);
    expect(await count()).toEqual([{ n: 2 }]);
  });

  test('columns that change are noticed', async () => {
    await connection.execute('create temp table things (n integer)', []);
    await connection.execute('select * from things', []);
    await connection.execute('alter table things add column name text', []);
    await expect(Promise.resolve(connection.execute('select * from things', []))).rejects.toMatchObject({
      code: '0A000',
    });
  });

  test('to wake an agent and to number events, nothing of others is read', async () => {
    const store = await openStore({ url });
    await store.close();
    const sent: [string, readonly unknown[]][] = [];
    const execute = (sql: string, parameters: readonly unknown[]) => {
      sent.push([sql, parameters]);
      return { rows: [], changes: 0 };
    };
    await createTx('postgres', execute, { seq: 0, events: 0, runnable: false }).runs.wakeAgent({
      agentId: 'a',
      now: 1,
    });
    const [[sql, parameters]] = sent as [[string, unknown[]]];
    const { rows } = await connection.execute(`explain ${sql}`, parameters);
    expect(rows.map((row) => Object.values(row as object)[0]).join('\n')).not.toContain('hashed');
    const { rows: settings } = await connection.execute(
      "select unnest(proconfig) as setting from pg_proc where proname = 'number_events' order by 1",
      [],
    );
    expect(settings).toContainEqual({ setting: 'enable_seqscan=off' });
  });
});
