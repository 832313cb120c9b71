import { expect, onTestFinished, test } from 'vitest';
import { createDatabase, describeOnPostgres } from '../../test/helpers/postgres.ts';
import { until } from '../../test/helpers/until.ts';
import { openStore } from '../store/open.ts';
import type { Tx } from '../store/store.ts';
import { EventHub } from './hub.ts';

describeOnPostgres('EventHub', () => {
  test('resumes reading after the store failed', async () => {
    const database = await createDatabase();
    const store = await openStore({ url: database.url }, { limits: { readers: 1, acquireMs: 200 } });
    const hub = await EventHub.open(store);
    onTestFinished(async () => {
      hub.close();
      await store.close();
      await database.drop();
    });
    let told = 0;
    hub.join(() => {
      told += 1;
    });
    const append = (tx: Tx) => tx.events.appendEvent({ type: 'agent_resumed', at: 1, data: { agentId: 'a' } });

    // Another transaction holds the only connection, so that the hub gets none in time.
    const [inside, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const holding = store.read(async () => {
      inside.resolve();
      await gate.promise;
    });
    await inside.promise;
    await store.write(append);
    await expect(store.read((tx) => tx.events.getEventCounter())).rejects.toMatchObject({ code: 'store' });
    expect([hub.last, told]).toEqual([0, 0]);
    gate.resolve();
    await holding;
    await until('the hub has read it', () => hub.last === 1 && told === 1);
  });
});
