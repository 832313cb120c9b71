import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { openStore } from './open.ts';
import type { Store, Tx } from './store.ts';

const directory = mkdtempSync(join(tmpdir(), 'readers-'));
const LONG = { long: true } as const;
let store: Store;
let people = 0;

beforeAll(async () => {
  store = await openStore({ path: join(directory, 'store.db') }, { threads: true });
});

afterAll(async () => {
  await store.close();
  rmSync(directory, { recursive: true });
});

const addPerson = async () => {
  people += 1;
  const id = `person-${people}`;
  await store.write((tx) => tx.participants.insertPerson({ id, handle: id, handleKey: id, at: 1 }));
  return id;
};
const find = (id: string) => (tx: Tx) => tx.participants.getParticipantById({ id });

describe('a long read', () => {
  test('sees what was committed before it, however many there are at once', async () => {
    for (let n = 0; n < 20; n += 1) {
      const id = await addPerson();
      const found = await Promise.all(Array.from({ length: 6 }, () => store.read(find(id), LONG)));
      expect(found.map((person) => person?.id)).toEqual(Array(6).fill(id));
    }
  });

  test('sees one state of the store from its first statement to its last', async () => {
    const known = await addPerson();
    const seen = await store.read(async (tx) => {
      const before = await find(known)(tx);
      const id = await addPerson();
      return [before?.id, await find(id)(tx)];
    }, LONG);
    expect(seen).toEqual([known, null]);
  });

  test('does not run on the main thread', async () => {
    const prepare = vi.spyOn(Database.prototype, 'prepare');
    await store.read((tx) => tx.ids.listIdsEnding({ kind: 'agents', ending: 'nobody' }), LONG);
    expect(prepare).not.toHaveBeenCalled();
    prepare.mockRestore();
  });

  test('passes on errors of its own and of the store, and the next one is not affected', async () => {
    const own = store.read(() => Promise.reject(new Error('my own')), LONG);
    await expect(own).rejects.toThrow('my own');
    const write = (tx: Tx) => tx.participants.insertPerson({ id: 'x', handle: 'x', handleKey: 'x', at: 1 });
    await expect(store.read(write, LONG)).rejects.toThrow();
    expect(await store.read(find('x'), LONG)).toBeNull();
  });

  test('executes nothing more once nobody waits for it', async () => {
    const id = await addPerson();
    const gone = new AbortController();
    let reached = '';
    const read = store.read(
      async (tx) => {
        await find(id)(tx);
        reached += 'first ';
        gone.abort(new Error('the client has gone'));
        await find(id)(tx);
        reached += 'second';
      },
      { ...LONG, signal: gone.signal },
    );
    await expect(read).rejects.toThrow('the client has gone');
    expect(reached).toBe('first ');
    const work = vi.fn(find(id));
    await expect(store.read(work, { ...LONG, signal: gone.signal })).rejects.toThrow('the client has gone');
    expect(work).not.toHaveBeenCalled();
    expect((await store.read(find(id), LONG))?.id).toBe(id);
  });

  test('fails once the store is closed', async () => {
    const other = await openStore({ path: join(directory, 'other.db') }, { threads: true });
    await other.read(find('user'), LONG);
    await other.close();
    await expect(other.read(find('user'), LONG)).rejects.toMatchObject({ code: 'store' });
  });
});
