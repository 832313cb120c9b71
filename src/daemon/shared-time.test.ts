import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createDatabase, describeOnPostgres } from '../../test/helpers/postgres.ts';
import { openStore } from '../store/open.ts';
import { SharedTime } from './shared-time.ts';

const HOUR_MS = 3_600_000;

describeOnPostgres('the time of a node', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }));
  afterEach(() => void vi.useRealTimers());

  test("is the database's, and a machine whose clock is off says so once", async () => {
    const database = await createDatabase();
    const store = await openStore({ url: database.url });
    const warned: unknown[] = [];
    const time = new SharedTime({ store, log: { warn: (details: unknown) => void warned.push(details) } });
    const offMs = async () => time.now() - (await store.read((tx) => tx.nodes.readClock({ now: 0 })));
    vi.setSystemTime(Date.now() + HOUR_MS);
    await time.follow();
    await time.follow();
    expect(Math.abs(await offMs())).toBeLessThan(1_000);
    expect(warned).toHaveLength(1);
    vi.setSystemTime(Date.now() - HOUR_MS);
    await time.follow();
    expect(warned).toHaveLength(1);
    expect(Math.abs(await offMs())).toBeLessThan(1_000);
    await store.close();
    await database.drop();
  });
});
