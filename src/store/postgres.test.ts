import pg from 'pg';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createDatabase, describeOnPostgres } from '../../test/helpers/postgres.ts';
import { openStore } from './open.ts';
import { addAgent, claim, queueRun } from './store.testkit.ts';
import type { Change, Store, Tx } from './store.ts';

describeOnPostgres('PostgreSQL', () => {
  let database: Awaited<ReturnType<typeof createDatabase>>;
  /** A person's own connection to the database. */
  let prompt: pg.Client;
  const stores: Store[] = [];

  beforeEach(async () => {
    database = await createDatabase();
    prompt = new pg.Client({ connectionString: database.url });
    await prompt.connect();
  });

  afterEach(async () => {
    await Promise.all(stores.splice(0).map((store) => store.close()));
    await prompt.end();
    await database.drop();
  });

  async function open(): Promise<Store> {
    const store = await openStore({ url: database.url });
    stores.push(store);
    return store;
  }

  const append = (tx: Tx) => tx.events.appendEvent({ type: 'agent_resumed', at: 1, data: { agentId: 'a' } });
  const countEvents = async (store: Store) =>
    (await store.read((tx) => tx.events.listEvents({ after: 0, limit: 99 }))).length;
  const writers = `select l.pid from pg_locks l join pg_database d on d.oid = l.database
    where l.locktype = 'advisory' and l.granted and d.datname = current_database()`;

  test('stores that open a fresh database at the same time can all write', async () => {
    const all = await Promise.all([open(), open(), open()]);
    const numbers = await Promise.all(all.map((store) => store.write(append)));
    expect(numbers.sort()).toEqual([1, 2, 3]);
    expect((await prompt.query('select version from schema_version')).rows).toHaveLength(1);
  });

  test('a very common word counts for every chunk that contains it', async () => {
    const store = await open();
    const add = (words: string, from: number, to: number) =>
      prompt.query(`insert into chunk_words select n, '${words}'::tsvector from generate_series(${from}, ${to}) as n`);
    await add('common:1', 1, 12_000);
    await add('rare:1 other:2', 12_001, 12_300);
    await add('rare:1 common:2', 12_301, 12_301);
    const words = ['rare', 'common'];
    const found = await store.read((tx) => tx.documents.findChunks({ words, limit: 3 }));
    expect(found.map(({ chunkId }) => chunkId)).toEqual([12_301, 12_001, 12_002]);
  });

  test('a newer schema is refused', async () => {
    await open();
    await prompt.query('update schema_version set version = 99');
    await expect(openStore({ url: database.url })).rejects.toMatchObject({ code: 'schema_too_new' });
  });

  test('a missing server is one clear sentence', async () => {
    const url = 'postgres://localhost/none?host=/nowhere';
    const sentence = /^PostgreSQL cannot be opened: .+\. Check \[db\] url and that the server is running\.$/;
    await expect(openStore({ url })).rejects.toMatchObject({
      code: 'store',
      message: expect.stringMatching(sentence),
    });
  });

  test('a connection lost during a write fails that write, and the next one works', async () => {
    const store = await open();
    const killed = async (tx: Tx) => {
      await append(tx);
      await prompt.query(`select pg_terminate_backend(pid) from (${writers}) w`);
      await append(tx);
    };
    const outcomes = await Promise.allSettled([store.write(append), store.write(killed), store.write(append)]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    for (const one of outcomes) expect(one).toMatchObject({ reason: { code: 'store' } });
    expect(await countEvents(store)).toBe(0);
    expect(await store.write(append)).toBe(1);

    await expect(store.write(killed)).rejects.toMatchObject({ code: 'store' });
    expect(await store.write(append)).toBe(2);
  });

  test('a connection lost between two writes is re-established', async () => {
    const store = await open();
    const pid = await store.write(async (tx) => {
      await append(tx);
      return (await prompt.query(writers)).rows[0].pid as number;
    });
    await prompt.query('select pg_terminate_backend($1)', [pid]);
    const alive = () => prompt.query('select from pg_stat_activity where pid = $1', [pid]);
    await vi.waitFor(async () => expect((await alive()).rows).toEqual([]), { timeout: 15_000 });
    expect(await store.write(append)).toBe(2);
  });

  test('a writer that continues after a database error gets an error', async () => {
    const store = await open();
    const swallowing = async (tx: Tx) => {
      await tx.channels.tryJoinChannel({ channelId: 'none', participantId: 'user' }).catch(() => {});
    };
    await expect(store.write(swallowing)).rejects.toMatchObject({ code: 'store' });
    expect(await store.write(append)).toBe(1);
  });

  test('a change is announced to other stores, and once to its own', async () => {
    const [here, there] = [await open(), await open()];
    const heard: Record<'here' | 'there', Change[]> = { here: [], there: [] };
    here.onChange((change) => heard.here.push(change));
    there.onChange((change) => heard.there.push(change));
    await here.write(append);
    await here.write(async (tx) => queueRun(tx, await addAgent(tx)));
    const changes = [
      { seq: 1, runnable: false },
      { seq: 2, runnable: true },
    ];
    await vi.waitFor(() => expect(heard.there).toEqual(changes), { timeout: 15_000 });
    expect(heard.here).toEqual(changes);
  });

  test("a claim skips a run that a person's transaction has locked", async () => {
    const store = await open();
    const [first, second] = await store.write(async (tx) => {
      const root = await addAgent(tx, { nodeId: 'n' });
      return [await queueRun(tx, root), await queueRun(tx, await addAgent(tx, { nodeId: 'n' }))];
    });
    await prompt.query('begin');
    await prompt.query('select from runs where id = $1 for update', [first?.id]);
    expect(await store.write((tx) => claim(tx, 'n'))).toMatchObject({ id: second?.id });
    expect(await store.write((tx) => claim(tx, 'n'))).toBeNull();
    await prompt.query('rollback');
    expect(await store.write((tx) => claim(tx, 'n'))).toMatchObject({ id: first?.id });
  });

  test('writers of several stores wait for each other', async () => {
    const [here, there] = [await open(), await open()];
    const inside = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    const first = here.write(async (tx) => {
      inside.resolve();
      await gate.promise;
      return append(tx);
    });
    await inside.promise;
    const second = there.write(append);
    const waiting = `select from pg_locks l join pg_database d on d.oid = l.database
      where l.locktype = 'advisory' and not l.granted and d.datname = current_database()`;
    await vi.waitFor(async () => expect((await prompt.query(waiting)).rowCount).toBe(1), { timeout: 15_000 });
    gate.resolve();
    expect(await Promise.all([first, second])).toEqual([1, 2]);
  });
});
