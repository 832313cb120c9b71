import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import pg from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createDatabase, describeOnPostgres } from '../../test/helpers/postgres.ts';
import { chunkQuery, passageQuery } from '../search/search.ts';
import { migrate } from '../store/migrate.ts';
import { openStore } from '../store/open.ts';
import { addAgent, send } from '../store/store.testkit.ts';
import type { Store } from '../store/store.ts';
import {
  backUp,
  dump,
  fillStore,
  makeDirectory,
  makeHome,
  NODE,
  restore,
  useStore,
  type Where,
} from './backup.testkit.ts';
import { verifyBackup } from './verify.ts';

/** The sequence number gap after a restore. */
const LEAP = 1_000_000_000;

async function search(store: Store, agentId: string) {
  return store.read(async (tx) => {
    const everything = { agentId, tags: [], since: 0, until: 9e15, limit: 9 };
    const passages = await tx.memory.findPassages({ ...everything, terms: passageQuery('deployments ops') });
    const chunks = await tx.documents.findChunks({ words: chunkQuery('deploy release').words, limit: 9 });
    return { passages: passages.map(({ content }) => content), chunks: chunks.length };
  });
}

/** Backs up, restores elsewhere and compares: nothing is lost, and a restore makes exactly the intended changes. */
async function roundTrip(from: Where, to: Where, directory: string, oldHome: string): Promise<void> {
  const [file, home] = [join(directory, 'backup.tar.gz'), join(directory, `restored-${Math.random()}`)];
  const { agentId } = await useStore(from, (store) => fillStore(store, oldHome));
  const before = await dump(from);
  const manifest = await backUp(file, oldHome, from);
  const last = (before.events ?? []).length;
  expect(last).toBeGreaterThan(0);
  expect(manifest.tables.messages?.rows).toBe(before.messages?.length);
  expect(manifest.workspaces).toEqual([{ name: 'w', path: join(oldHome, 'workspaces/w'), nodeId: NODE }]);
  expect(await dump(from)).toEqual(before);

  await restore(file, home, to);
  const after = await dump(to);
  const [{ value: epoch }] = after.counters as unknown as [{ value: number }];
  expect(epoch).toBeGreaterThanOrEqual(last + LEAP);
  const expected: typeof before = {
    ...before,
    events: [],
    counters: [{ name: 'event', value: epoch }],
    runs: (before.runs ?? []).map((run) => ({ ...run, pid: null, pid_started: null })),
    workspaces: (before.workspaces ?? []).map((row) => ({ ...row, path: join(home, 'workspaces/w') })),
    agents: (before.agents ?? []).map((row) => ({
      ...row,
      workspace: String(row.workspace).replace(oldHome, home),
    })),
    sessions: (before.sessions ?? []).map((row) => ({
      ...row,
      inside_path: String(row.inside_path).replace(oldHome, home),
    })),
  };
  expect(Object.keys(after)).toEqual(Object.keys(expected));
  for (const [table, rows] of Object.entries(expected)) expect(after[table], table).toEqual(sorted(rows));
  await useStore(to, async (store) => {
    expect(await search(store, agentId)).toEqual({ passages: ['The deployment failed on Tuesday'], chunks: 1 });
    await store.write((tx) => tx.events.appendEvent({ type: 'agent_resumed', at: 1, data: { agentId: 'a' } }));
    expect(await store.read((tx) => tx.events.getEventCounter())).toBe(epoch + 1);
    // A key is never given twice: the next chunk has a new one.
    const [{ id: used }] = after.chunks as unknown as [{ id: number }];
    const document = (await store.read((tx) =>
      tx.documents.getDocument({ id: String(after.documents?.[0]?.id) }),
    )) as never;
    const chunk = { hash: 'new', place: { headings: [] }, text: 'x', words: { title: '', words: 'x' } };
    await store.write((tx) => tx.documents.replaceDocuments([{ document, chunks: [chunk] }]));
    const [next] = await store.read((tx) => tx.documents.listChunks({ documentId: String(after.documents?.[0]?.id) }));
    expect(next?.id).toBeGreaterThan(used);
  });
}

function sorted<T>(rows: readonly T[]): T[] {
  return [...rows].sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
}

describe('a backup', () => {
  test('restores every row, the full-text indexes and the files of the home into another home', async () => {
    const directory = makeDirectory();
    const home = makeHome(directory);
    await roundTrip({ path: join(home, 'substrat.db') }, { path: join(directory, 'new.db') }, directory, home);
  });

  test('is a consistent snapshot of a store that is being written, readable only by the owner', async () => {
    const directory = makeDirectory();
    const home = makeHome(directory);
    const path = join(home, 'substrat.db');
    const store = await openStore({ path });
    onTestFinished(() => store.close());
    const agent = await store.write((tx) => addAgent(tx));
    let over = false;
    const writing = (async () => {
      let count = 0;
      for (; !over; count++) await store.write((tx) => send(tx, { to: agent, text: 'x'.repeat(20_000) }));
      return count;
    })();
    while ((await store.read((tx) => tx.events.getEventCounter())) < 100) await new Promise(setImmediate);
    const file = join(directory, 'backup.tar.gz');
    const manifest = await backUp(file, home, { path });
    over = true;
    const written = await writing;
    const rows = (table: string) => manifest.tables[table]?.rows;
    // A message and its delivery are written in one transaction.
    expect(rows('messages')).toBeGreaterThanOrEqual(100);
    expect(rows('messages')).toBeLessThan(written);
    expect([rows('deliveries'), rows('events')]).toEqual([rows('messages'), rows('messages')]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await verifyBackup(file)).toEqual(manifest);
  });

  test('of an older schema is restored and migrated', async () => {
    const directory = makeDirectory();
    const home = makeHome(directory);
    const path = join(home, 'substrat.db');
    const database = new Database(path);
    await migrate(
      (sql, parameters) => {
        const statement = database.prepare(sql);
        const rows = statement.reader ? statement.all(...parameters) : void statement.run(...parameters);
        return { rows: rows ?? [], changes: 0 };
      },
      'sqlite',
      2,
    );
    database.exec(`insert into participants values ('p', 'person', 'Ann', 'ann', 7)`);
    database.close();
    const file = join(directory, 'backup.tar.gz');
    expect(await backUp(file, home, { path })).toMatchObject({ schemaVersion: 2 });
    const restored = { path: join(directory, 'new.db') };
    await restore(file, join(directory, 'new'), restored);
    await useStore(restored, async (store) => {
      expect(await store.read((tx) => tx.participants.getParticipant({ handleKey: 'ann' }))).toMatchObject({
        handle: 'Ann',
      });
    });
  });

  test('does not overwrite another file, and leaves nothing behind when it cannot be written', async () => {
    const directory = makeDirectory();
    const home = makeHome(directory);
    const path = join(home, 'substrat.db');
    await useStore({ path }, (store) => fillStore(store, home));
    const file = join(home, 'token');
    await expect(backUp(file, home, { path })).rejects.toMatchObject({ code: 'bad_request' });
    expect(readFileSync(file, 'utf8')).toBe('secret\n');
    mkdirSync(join(directory, 'gone'));
    const unwritable = join(directory, 'gone', 'no', 'backup.tar.gz');
    await expect(backUp(unwritable, home, { path })).rejects.toMatchObject({ code: 'bad_request' });
    expect(existsSync(unwritable)).toBe(false);
  });
});

describeOnPostgres('a backup of the one engine', () => {
  test('is restored on the other engine, and back', async () => {
    const directory = makeDirectory();
    const home = makeHome(directory);
    const [first, second] = [await createDatabase(), await createDatabase()];
    onTestFinished(() => Promise.all([first.drop(), second.drop()]).then(() => {}));
    await roundTrip({ path: join(home, 'substrat.db') }, { url: first.url }, directory, home);
    const other = makeDirectory();
    await roundTrip({ url: second.url }, { path: join(other, 'new.db') }, other, makeHome(other));
  });

  test('does not touch a database that contains a store, unless forced', async () => {
    const directory = makeDirectory();
    const home = makeHome(directory);
    const path = join(home, 'substrat.db');
    const { url, drop } = await createDatabase();
    onTestFinished(drop);
    await useStore({ url }, (store) => fillStore(store, home));
    await useStore({ path }, (store) => fillStore(store, home));
    const before = await dump({ url });
    const file = join(directory, 'backup.tar.gz');
    await backUp(file, home, { path });
    await expect(restore(file, join(directory, 'new'), { url })).rejects.toMatchObject({ code: 'conflict' });
    expect(await dump({ url })).toEqual(before);
    expect(existsSync(join(directory, 'new', 'node'))).toBe(false);
    await restore(file, join(directory, 'new'), { url }, true);
    expect((await dump({ url })).messages).toHaveLength((await dump({ path })).messages?.length ?? -1);
    const client = new pg.Client({ connectionString: url });
    onTestFinished(() => client.end());
    await client.connect();
    const sums = 'sum(chunks)::integer as chunks, sum(words)::integer as words';
    const { rows: counted } = await client.query(`select ${sums} from chunk_totals`);
    const { rows: indexed } = await client.query(
      'select count(*)::integer as chunks, sum(length)::integer as words from chunk_words',
    );
    expect(counted).toEqual(indexed);
    expect(counted).toEqual([{ chunks: 1, words: expect.any(Number) }]);
  });
});
