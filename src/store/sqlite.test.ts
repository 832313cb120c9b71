import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { heart } from './migrations/0001-heart.ts';
import { openStore } from './open.ts';
import type { Store, Tx } from './store.ts';

let directory: string;
let path: string;
const open: Store[] = [];
const children: ChildProcess[] = [];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'substrat-sqlite-'));
  path = join(directory, 'substrat.db');
});

afterEach(async () => {
  await Promise.all(open.splice(0).map((store) => store.close()));
  for (const child of children.splice(0)) if (child.exitCode === null) child.kill('SIGKILL');
  await rm(directory, { recursive: true });
});

async function openHere(): Promise<Store> {
  const store = await openStore({ path });
  open.push(store);
  return store;
}

/** Appends one more event; returns the number of the last one. */
const appended = async (store: Store) => {
  await store.write(append);
  return store.read((tx) => tx.events.getEventCounter());
};
const append = (tx: Tx) => tx.events.appendEvent({ type: 'agent_resumed', at: 1, data: { agentId: 'a' } });

/**
 * Another process with `path` as its argument. Resolves once it has printed `ready`; a line on its stdin lets it
 * continue.
 */
async function start(program: string) {
  const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', program, path], {
    cwd: import.meta.dirname,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  children.push(child);
  let output = '';
  child.stdout.setEncoding('utf8');
  const ready = once(child.stdout, 'data');
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  const ended = once(child, 'close').then(([code]) => ({ code, output }));
  await Promise.race([ready, ended]);
  return { letGo: () => child.stdin.end('\n'), ended };
}

const WAIT = `
  import { once } from 'node:events';
  const told = () => { console.log('ready'); return once(process.stdin, 'data'); };
  const path = process.argv[1];
`;

const OPENS_AND_WRITES = `${WAIT}
  import { openStore } from './open.ts';
  await told();
  const store = await openStore({ path });
  for (let i = 0; i < 5; i++) await store.write((tx) => tx.events.appendEvent({ type: 'agent_resumed', at: 1, data: { agentId: 'a' } }));
  await store.close();
  process.stdin.destroy();
`;

const HOLDS_THE_LOCK = `${WAIT}
  import Database from 'better-sqlite3';
  const database = new Database(path);
  database.exec('begin immediate');
  await told();
  database.exec('commit');
  database.close();
  process.stdin.destroy();
`;

describe('opening', () => {
  test('creates the schema once; opening again changes nothing', async () => {
    const schemaOf = () => {
      const database = new Database(path, { readonly: true });
      const tables = database.prepare('select * from sqlite_schema order by name').all();
      const versions = database.prepare('select version from schema_version').all();
      database.close();
      return { tables, versions };
    };
    await (await openHere()).write(append);
    const before = schemaOf();
    expect(before.versions).toHaveLength(1);
    const again = await openHere();
    expect(schemaOf()).toEqual(before);
    expect(await again.read((tx) => tx.events.getEventCounter())).toBe(1);
  });

  test('sets full durability and foreign keys', async () => {
    const store = await openHere();
    const database = new Database(path, { readonly: true });
    expect(database.pragma('journal_mode', { simple: true })).toBe('wal');
    database.close();
    const orphan = store.write((tx) => tx.channels.tryJoinChannel({ channelId: 'none', participantId: 'user' }));
    await expect(orphan).rejects.toThrow('FOREIGN KEY');
  });

  test('refuses a newer schema and leaves it unchanged', async () => {
    await (await openHere()).close();
    const database = new Database(path);
    database.exec('update schema_version set version = 99');
    await expect(openStore({ path })).rejects.toMatchObject({
      code: 'schema_too_new',
      message: expect.stringMatching(/^The store has schema version 99; Substrat \S+ supports up to \d+\. Update/),
    });
    expect(database.prepare('select version from schema_version').get()).toEqual({ version: 99 });
    database.close();
  });

  test('migrates an old schema and keeps its data', async () => {
    const database = new Database(path);
    database.exec(heart);
    database.exec('create table schema_version (version integer not null); insert into schema_version values (1)');
    database.exec("insert into trees values ('t', 7, 0, 0)");
    await (await openHere()).write(append);
    expect(database.prepare('select runs_since_person from trees').get()).toEqual({ runs_since_person: 7 });
    const [{ version }] = database.prepare('select version from schema_version').all() as [{ version: number }];
    expect(version).toBeGreaterThan(1);
    database.close();
  });

  test('a failed migration leaves nothing', async () => {
    const database = new Database(path);
    database.exec('create table runs (mine text)');
    await expect(openStore({ path })).rejects.toMatchObject({ code: 'store' });
    expect(database.prepare('select name from sqlite_schema').all()).toEqual([{ name: 'runs' }]);
    database.close();
  });

  test('describes in one sentence what is wrong with a file that is not a database', async () => {
    await writeFile(path, 'Dear diary, '.repeat(1000));
    const message = `The store ${path} cannot be opened: file is not a database.`;
    await expect(openStore({ path })).rejects.toMatchObject({ code: 'store', message });
  });

  test('describes in one sentence that a path cannot be a file', async () => {
    await mkdir(path);
    const sentence = /^The store \S+ cannot be opened: [^.]+\.$/;
    await expect(openStore({ path })).rejects.toMatchObject({ message: expect.stringMatching(sentence) });
    const missing = join(directory, 'none', 'substrat.db');
    await expect(openStore({ path: missing })).rejects.toMatchObject({ message: expect.stringMatching(sentence) });
  });

  test('processes that open a fresh database at the same time can all write', async () => {
    const others = await Promise.all(Array.from({ length: 3 }, () => start(OPENS_AND_WRITES)));
    for (const other of others) other.letGo();
    const ends = await Promise.all(others.map(({ ended }) => ended));
    expect(ends.map(({ code }) => code)).toEqual([0, 0, 0]);
    const events = await (await openHere()).read((tx) => tx.events.listEvents({ after: 0, limit: 100 }));
    expect(events.map(({ seq }) => seq)).toEqual(Array.from({ length: 15 }, (_, i) => i + 1));
  });
});

describe('a database that another process has locked', () => {
  /**
   * The duration of sixty event loop turns, during which it must stay pending. A blocking wait would take seconds
   * each time.
   */
  async function turnsWhile(waiting: Promise<unknown>): Promise<number> {
    let over = false;
    const end = () => {
      over = true;
    };
    waiting.then(end, end);
    const start = Date.now();
    for (let turns = 0; turns < 60; turns++) {
      await setTimeout(5);
      expect(over).toBe(false);
    }
    return Date.now() - start;
  }

  test('is waited for without blocking anything else', async () => {
    const store = await openHere();
    const { letGo, ended } = await start(HOLDS_THE_LOCK);
    const writing = store.write(append);
    expect(await turnsWhile(writing)).toBeLessThan(4_000);
    expect(await store.read((tx) => tx.events.getEventCounter())).toBe(0);
    letGo();
    await writing;
    expect(await ended).toMatchObject({ code: 0 });
  });

  test('is waited for when it is opened', async () => {
    await (await openHere()).write(append);
    const { letGo } = await start(HOLDS_THE_LOCK);
    const opening = openHere();
    expect(await turnsWhile(opening)).toBeLessThan(4_000);
    letGo();
    expect(await appended(await opening)).toBe(2);
  });
});

test('a read sees everything committed by any process, and nothing of a running write', async () => {
  const [store, other] = [await openHere(), await openHere()];
  const last = () => store.read(async (tx) => (await tx.events.listEvents({ after: 0, limit: 9 })).length);
  await other.write(append);
  expect(await last()).toBe(1);
  const during = await store.write(async (tx) => {
    await append(tx);
    return last();
  });
  expect([during, await last()]).toEqual([1, 2]);
});

test('a read cannot write', async () => {
  const store = await openHere();
  await expect(store.read(append)).rejects.toThrow(/readonly/);
  expect(await appended(store)).toBe(1);
});
