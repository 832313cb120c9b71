import pg from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createDatabase, describeOnPostgres } from '../../test/helpers/postgres.ts';
import { type PostgresProxy, startPostgresProxy } from '../../test/helpers/postgres-proxy.ts';
import { until } from '../../test/helpers/until.ts';
import { openStore } from './open.ts';
import type { PostgresLimits } from './postgres-connection.ts';
import { addAgent } from './store.testkit.ts';
import type { Change, Store, Tx } from './store.ts';

const append = (tx: Tx) => tx.events.appendEvent({ type: 'agent_resumed', at: 1, data: { agentId: 'a' } });
/** Appends one more event; returns the number of the last one. */
const appended = async (store: Store) => {
  await store.write(append);
  return store.read((tx) => tx.events.getEventCounter());
};
const countEvents = async (store: Store) =>
  (await store.read((tx) => tx.events.listEvents({ after: 0, limit: 99 }))).length;
const WAITING = `select from pg_locks l join pg_database d on d.oid = l.database
  where l.locktype = 'advisory' and not l.granted and d.datname = current_database()`;
const STORE = { code: 'store' };

describeOnPostgres('PostgreSQL behind a network that fails', () => {
  let database: Awaited<ReturnType<typeof createDatabase>>;
  let proxy: PostgresProxy;
  let prompt: pg.Client;
  const stores: Store[] = [];
  const lines: string[] = [];

  beforeEach(async () => {
    database = await createDatabase();
    proxy = await startPostgresProxy(database.url);
    prompt = new pg.Client({ connectionString: database.url });
    await prompt.connect();
    lines.length = 0;
  });
  afterEach(async () => {
    await Promise.all(stores.splice(0).map((store) => store.close()));
    await prompt.end();
    await proxy[Symbol.asyncDispose]();
    await database.drop();
  });

  async function open(limits: Partial<PostgresLimits> = {}, url = proxy.url): Promise<Store> {
    const log = (_: object, message: string) => void lines.push(message);
    const store = await openStore({ url }, { log: { info: log, warn: log }, limits });
    stores.push(store);
    return store;
  }

  const terminate = (role: string) =>
    prompt.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and application_name = $1`,
      [`substrat ${role}`],
    );

  test('a commit that took effect although its response was lost succeeds', async () => {
    const store = await open();
    const heard: Change[] = [];
    store.onChange((change) => heard.push(change));
    proxy.mode = 'cut after commit';
    expect(await appended(store)).toBe(1);
    expect(proxy.cuts).toBe(1);
    await until('it is announced', () => heard.at(-1)?.seq === 1);
    expect(store.commits()).toBe(1);
  });

  test('a commit that did not reach the server fails and stores nothing', async () => {
    const store = await open();
    proxy.mode = 'cut before commit';
    await expect(store.write(append)).rejects.toMatchObject(STORE);
    expect(proxy.cuts).toBe(1);
    expect(await countEvents(store)).toBe(0);
    expect(await appended(store)).toBe(1);
  });

  test('a commit lost on its way is terminated on the server before it counts as failed', async () => {
    const store = await open({ silenceMs: 200 });
    const lost = store.write(async (tx) => {
      await append(tx);
      proxy.hush();
    });
    await expect(lost).rejects.toMatchObject(STORE);
    expect(await appended(store)).toBe(1);
    expect(await countEvents(store)).toBe(1);
  });

  test('a commit that no server reports on in time has an unknown outcome', async () => {
    const store = await open({ doubtMs: 500 });
    proxy.afterCut = 'closed';
    proxy.mode = 'cut after commit';
    await expect(store.write(append)).rejects.toMatchObject({ code: 'outcome_unknown' });
    proxy.mode = 'open';
    await until('the store is back', () => store.read(async () => true).catch(() => false));
    expect(await countEvents(store)).toBe(1);
  });

  test('a server that drops everything fails current and waiting reads and writes, and is used again when it is back', async () => {
    const store = await open({ silenceMs: 300, connectMs: 300, doubtMs: 2_000 });
    await store.write(append);
    proxy.mode = 'hole';
    const begun = Date.now();
    const attempts = [countEvents(store), store.write(append), store.read(async (tx) => tx.events.getEventCounter())];
    setTimeout(() => attempts.push(store.write(append), countEvents(store)), 200);
    await until('all were made', () => attempts.length === 5);
    for (const attempt of await Promise.allSettled(attempts)) expect(attempt).toMatchObject({ reason: STORE });
    await expect(store.write(append)).rejects.toMatchObject(STORE);
    await expect(countEvents(store)).rejects.toMatchObject(STORE);
    expect(Date.now() - begun).toBeLessThan(10_000);

    proxy.mode = 'open';
    expect(await until('it writes again', () => appended(store).catch(() => null))).toBe(2);
    expect(lines).toContain('PostgreSQL cannot be reached');
    expect(lines).toContain('PostgreSQL can be reached again');
  });

  test('a single silent connection is closed, a slow statement is not', async () => {
    const store = await open({ silenceMs: 200, readers: 1 });
    await store.read(async (tx) => tx.events.getEventCounter());
    proxy.hush();
    await expect(countEvents(store)).rejects.toMatchObject(STORE);
    expect(await countEvents(store)).toBe(0);

    // Blocked by a lock for several times the silence timeout.
    await prompt.query('begin; lock table events in access exclusive mode');
    const slow = countEvents(store);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    await prompt.query('rollback');
    expect(await slow).toBe(0);
  });

  test('closes in time while nothing responds', async () => {
    const store = await open({ silenceMs: 300, connectMs: 300 });
    await countEvents(store);
    proxy.mode = 'hole';
    const begun = Date.now();
    const refused = expect(store.write(append)).rejects.toMatchObject(STORE);
    await store.close();
    await refused;
    await until('no connection is left', () => proxy.clients === 0);
    expect(Date.now() - begun).toBeLessThan(8_000);
  });

  test('a connection lost during a read fails that read with the code store, and is replaced', async () => {
    const store = await open();
    const cut = store.read(async (tx) => {
      await tx.events.getEventCounter();
      await terminate('reader');
      return tx.events.getEventCounter();
    });
    await expect(cut).rejects.toMatchObject(STORE);
    expect(await countEvents(store)).toBe(0);
    expect(lines).toEqual(['a connection to PostgreSQL was lost', 'a lost connection to PostgreSQL was replaced']);
  });

  test('listening resumes after its connection was lost, and reports what it missed', async () => {
    const [here, there] = [await open({ pollMs: 600_000 }), await open({ pollMs: 600_000 }, database.url)];
    const heard: Change[] = [];
    here.onChange((change) => heard.push(change));
    proxy.mode = 'closed';
    proxy.cut();
    await until('it is noticed', () => lines.includes('PostgreSQL cannot be reached'));
    await there.write(append);
    expect(heard).toEqual([]);
    proxy.mode = 'open';
    await until('it has caught up', () => heard.at(-1)?.seq === 1);
    await there.write(append);
    await until('it listens again', () => heard.at(-1)?.seq === 2);
  });

  test('a commit of another node without a hint is still noticed', async () => {
    const store = await open({ pollMs: 50 });
    const heard: Change[] = [];
    const unsubscribe = store.onChange((change) => heard.push(change));
    await prompt.query("set substrat.locks = '*'");
    await prompt.query("insert into events (seq, type, at, data) values (1, 'test', 1, '{}')");
    await until('it is told', () => heard.at(-1)?.seq === 1);
    unsubscribe();
  });

  test('a node that stalls inside a transaction is disconnected and does not block others', async () => {
    const [stalled, other] = [await open({ idleInTransactionMs: 300 }), await open()];
    const { id } = await other.write((tx) => addAgent(tx));
    const [inside, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const stuck = stalled.write(async (tx) => {
      await tx.agents.setPaused({ id, at: 1, reason: 'stalled' });
      await tx.agents.getAgent({ id });
      inside.resolve();
      await gate.promise;
      return tx.agents.getAgent({ id });
    });
    await inside.promise;
    await other.write((tx) => tx.agents.setPaused({ id, at: 2, reason: 'not stalled' }));
    gate.resolve();
    await expect(stuck).rejects.toMatchObject(STORE);
    expect(await stalled.read((tx) => tx.agents.getAgent({ id }))).toMatchObject({ pausedAt: 2 });
    expect(await appended(stalled)).toBe(1);
  });

  test('a reader that gets no connection because all are in use is told to retry', async () => {
    const store = await open({ readers: 1, acquireMs: 200 });
    const gate = Promise.withResolvers<void>();
    const holding = store.read(() => gate.promise);
    await expect(countEvents(store)).rejects.toMatchObject({
      ...STORE,
      message: expect.stringMatching(/^Too many concurrent reads/),
    });
    gate.resolve();
    await holding;
    expect(await countEvents(store)).toBe(0);
    expect(lines).toEqual([]);
  });

  test('a lock held for too long fails all writers that wait for it', async () => {
    const store = await open({ lockMs: 1_000 });
    await prompt.query('begin');
    await prompt.query('select pg_advisory_xact_lock(7331001)');
    const first = store.write(append);
    await until('it waits for the lock', async () => (await prompt.query(WAITING)).rowCount === 1);
    const second = store.write(append);
    for (const write of await Promise.allSettled([first, second])) expect(write).toMatchObject({ reason: STORE });
    await prompt.query('rollback');
    expect(await appended(store)).toBe(1);
  });
});
