import { expect, onTestFinished, test } from 'vitest';
import { openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/store/store.ts';
import { startDaemon } from '../helpers/daemon.ts';
import { createDatabase, describeOnPostgres } from '../helpers/postgres.ts';
import { createWorld } from '../helpers/world.ts';

/** A store that counts how often each kind of write waited for the server, by the first word of what it is like. */
function counting(store: Store): { readonly store: Store; readonly trips: Map<string, number[]> } {
  const trips = new Map<string, number[]>();
  let last = Promise.resolve();
  return {
    trips,
    store: {
      ...store,
      // One after the other: the count is that of the whole process.
      write: (work, ...like) => {
        const done = last.then(async () => {
          const before = store.roundTrips();
          const value = await store.write(work, ...like);
          const kind = like[0]?.split(' ')[0] ?? 'other';
          trips.set(kind, [...(trips.get(kind) ?? []), store.roundTrips() - before]);
          return value;
        });
        last = done.then(
          () => {},
          () => {},
        );
        return done;
      },
    },
  };
}

describeOnPostgres('round trips', () => {
  test('a post, a claim, a tool call and the end of a run take few', async () => {
    const database = await createDatabase();
    const opened = await openStore({ url: database.url }, { limits: { pollMs: 600_000 } });
    onTestFinished(async () => {
      await opened.close();
      await database.drop();
    });
    const { store, trips } = counting(opened);
    const world = await createWorld({ store });
    const lead = await world.create('lead');
    await world.create('worker', lead);
    world.behave('lead', async ({ messages, call }) => {
      if (messages.some(({ kind }) => kind === 'reply')) return 'it is done';
      await call('send_message', { recipient: 'worker', text: 'please' });
      await call('store_memory', { content: 'it was asked' });
      return '';
    });
    for (let round = 0; round < 6; round += 1) {
      await world.ask('lead', `do it, round ${round}`);
      await world.settle();
    }
    console.log(Object.fromEntries(trips));
    // The first ones find out what they have to lock.
    const most = (kind: string) => {
      const counts = trips.get(kind)?.slice(-2) ?? [];
      expect(counts, kind).toHaveLength(2);
      return Math.max(...counts);
    };
    expect(most('post')).toBeLessThanOrEqual(6);
    expect(most('call')).toBeLessThanOrEqual(6);
    expect(most('end')).toBeLessThanOrEqual(6);
    // And one that looks for the tree to lock.
    expect(most('tree') + 1).toBeLessThanOrEqual(8);
  });

  test('a post over REST to the id of an agent takes two', async () => {
    const database = await createDatabase();
    await using daemon = await startDaemon({ database: database.url, members: { me: {} } });
    onTestFinished(database.drop);
    const { id } = daemon.agent('me');
    const { store } = daemon.daemon;
    const trips: number[] = [];
    for (let post = 0; post < 6; post += 1) {
      const before = store.roundTrips();
      await daemon.client.sendMessage(id, { text: 'hello' });
      trips.push(store.roundTrips() - before);
    }
    // After the first ones found out what they have to lock. The test daemon rolls each write back once before, which
    // takes two: the reads, and the rollback.
    expect(Math.min(...trips.slice(-4)) - 2, trips.join()).toBe(2);
  });
});
