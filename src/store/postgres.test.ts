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
  /** Appends one more event; returns the number of the last one. */
  const appended = async (store: Store) => {
    await store.write(append);
    return store.read((tx) => tx.events.getEventCounter());
  };
  const countEvents = async (store: Store) =>
    (await store.read((tx) => tx.events.listEvents({ after: 0, limit: 99 }))).length;
  const writers = `select l.pid from pg_locks l join pg_database d on d.oid = l.database
    where l.locktype = 'advisory' and l.granted and d.datname = current_database()`;

  test('stores that open a fresh database at the same time can all write', async () => {
    const all = await Promise.all([open(), open(), open()]);
    await Promise.all(all.map((store) => store.write(append)));
    for (const store of all) expect(await store.read((tx) => tx.events.getEventCounter())).toBe(3);
    expect((await prompt.query('select version from schema_version')).rows).toHaveLength(1);
  });

  test('a claim takes one run, whatever plan the server chooses', async () => {
    for (const way of ['hashagg', 'sort', 'hashjoin', 'mergejoin', 'material']) {
      await prompt.query(`alter database ${new URL(database.url).pathname.slice(1)} set enable_${way} = off`);
    }
    const store = await open();
    const nodeId = await store.write(async (tx) => {
      const root = await addAgent(tx);
      const children = [await addAgent(tx, { parent: root }), await addAgent(tx, { parent: root })];
      for (const agent of [root, ...children]) await queueRun(tx, agent);
      return root.nodeId;
    });
    await prompt.query('analyze');
    await store.write((tx) => claim(tx, nodeId));
    const { rows } = await prompt.query('select state from runs order by state');
    expect(rows.map(({ state }) => state)).toEqual(['created', 'created', 'running']);
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
      await tx.events.getOldestEvent();
      await prompt.query(`select pg_terminate_backend(pid) from (${writers}) w`);
      await append(tx);
    };
    await expect(store.write(killed)).rejects.toMatchObject({ code: 'store' });
    expect(await countEvents(store)).toBe(0);
    expect(await appended(store)).toBe(1);

    await expect(store.write(killed)).rejects.toMatchObject({ code: 'store' });
    expect(await appended(store)).toBe(2);
  });

  test('a connection lost between two writes is re-established', async () => {
    const store = await open();
    const pid = await store.write(async (tx) => {
      await append(tx);
      await tx.events.getOldestEvent();
      return (await prompt.query(writers)).rows[0].pid as number;
    });
    await prompt.query('select pg_terminate_backend($1)', [pid]);
    const alive = () => prompt.query('select from pg_stat_activity where pid = $1', [pid]);
    await vi.waitFor(async () => expect((await alive()).rows).toEqual([]), { timeout: 15_000 });
    expect(await appended(store)).toBe(2);
  });

  test('a writer that continues after a database error gets an error', async () => {
    const store = await open();
    const swallowing = async (tx: Tx) => {
      await tx.channels.tryJoinChannel({ channelId: 'none', participantId: 'user' }).catch(() => {});
    };
    await expect(store.write(swallowing)).rejects.toMatchObject({ code: 'not_found' });
    expect(await appended(store)).toBe(1);
  });

  test('a change is announced to other stores and to its own, also before its events have numbers', async () => {
    const [here, there] = [await open(), await open()];
    const heard: Record<'here' | 'there', Change[]> = { here: [], there: [] };
    here.onChange((change) => heard.here.push(change));
    there.onChange((change) => heard.there.push(change));
    await here.write(append);
    expect(heard.here[0]).toEqual({ seq: 0, runnable: false });
    await here.write(async (tx) => queueRun(tx, await addAgent(tx)));
    expect(heard.here.filter(({ runnable }) => runnable)).toHaveLength(1);
    for (const which of ['here', 'there'] as const) {
      await vi.waitFor(() => expect(heard[which].at(-1)?.seq).toBe(2), { timeout: 15_000 });
      expect(heard[which].some(({ runnable }) => runnable)).toBe(true);
    }
  });

  test('other stores are told of many commits by few notices', async () => {
    const [here, there] = [await open(), await open()];
    const heard: Change[] = [];
    there.onChange((change) => heard.push(change));
    const begun = performance.now();
    for (let i = 0; i < 200; i += 1) await here.write(append);
    const took = performance.now() - begun;
    await vi.waitFor(() => expect(heard.at(-1)?.seq).toBe(200), { timeout: 15_000 });
    expect(heard.length).toBeLessThanOrEqual(took / 10 + 2);
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

  test('writers of several stores wait for each other only if they change the same tree', async () => {
    const [here, there] = [await open(), await open()];
    const [one, two] = [await here.write((tx) => addAgent(tx)), await here.write((tx) => addAgent(tx))];
    const [inside, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const pause = (store: Store, id: string) => store.write((tx) => tx.agents.setPaused({ id, at: 1, reason: '' }));
    const first = here.write(async (tx) => {
      await tx.agents.setPaused({ id: one.id, at: 1, reason: '' });
      const agent = await tx.agents.getAgent({ id: one.id });
      inside.resolve();
      await gate.promise;
      return agent?.pausedAt;
    });
    await inside.promise;
    await pause(there, two.id);
    const second = pause(there, one.id);
    const waiting = 'select from pg_locks where not granted and pid <> pg_backend_pid()';
    await vi.waitFor(async () => expect((await prompt.query(waiting)).rowCount).toBe(1), { timeout: 2_000 });
    gate.resolve();
    expect(await first).toBe(1);
    await second;
  });

  test('a row cannot be changed without the lock of what it belongs to', async () => {
    const store = await open();
    const agent = await store.write((tx) => addAgent(tx));
    const end = () => prompt.query('update agents set terminated_at = 1 where id = $1', [agent.id]);
    await expect(end()).rejects.toMatchObject({ code: 'SU002', message: expect.stringMatching(/newer Substrat/) });
    await prompt.query("set substrat.locks = ' t:another '");
    await expect(end()).rejects.toMatchObject({ code: 'SU001', detail: `t:${agent.treeId}` });
    await prompt.query("select set_config('substrat.locks', $1, false)", [` t:${agent.treeId} `]);
    await end();
  });

  test('an event that commits late gets a later number, and nobody has missed it', async () => {
    const store = await open();
    const [inside, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    await prompt.query("set substrat.locks = '*'");
    await prompt.query('begin');
    await prompt.query("insert into events (type, at, data) values ('late', 1, '{}')");
    const slow = store.write(async (tx) => {
      await append(tx);
      await tx.events.getOldestEvent();
      inside.resolve();
      await gate.promise;
    });
    await inside.promise;
    expect(await appended(store)).toBe(1);
    gate.resolve();
    await slow;
    expect(await appended(store)).toBe(3);
    await prompt.query('commit');
    const all = await store.read((tx) => tx.events.listEvents({ after: 0, limit: 9 }));
    expect(all.map(({ seq, type }) => [seq, type])).toEqual([
      [1, 'agent_resumed'],
      [2, 'agent_resumed'],
      [3, 'agent_resumed'],
      [4, 'late'],
    ]);
  });
});
