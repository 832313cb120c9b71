import { SubstratError } from '../../src/core/errors.ts';
import type { Store, Tx } from '../../src/store/store.ts';

type Work<T> = (tx: Tx) => Promise<T>;

class RolledBack extends Error {}

/**
 * Makes an open store execute every write twice; the first execution is rolled back, like a commit that meets a conflict
 * and is retried. Anything a write changes outside its transaction is then changed twice, and tests notice.
 */
export function writeTwice(store: Store): void {
  const { write } = store;
  const once = { ...store };
  Object.assign(store, {
    // Serial writers are queued at once, so that nobody else writes or reads in between. Of writers that run at the same
    // time, the second would meet the locks of the first.
    write: async <T>(work: Work<T>, ...like: readonly string[]): Promise<T> => {
      const first = rollBack(once, work);
      if (store.engine === 'postgres') await first;
      const [, value] = await Promise.all([first, write(work, ...like)]);
      return value;
    },
  });
}

/**
 * A store whose commit fails once, after the write was executed: for the next write that adds to a run's record, or
 * the first one that `fails` accepts. While it is down, all fail.
 */
export function failingAtCommit(store: Store): Store & { failNext(fails?: () => boolean): void; down: boolean } {
  let failing: (() => boolean) | 'record' | null = null;
  const failed = () => new SubstratError('store', 'The store could not write: the commit failed.');
  const failingStore = {
    ...store,
    down: false,
    failNext: (fails?: () => boolean) => {
      failing = fails ?? 'record';
    },
    write: async <T>(work: Work<T>): Promise<T> => {
      if (failingStore.down) {
        await rollBack(store, work);
        throw failed();
      }
      if (failing === null || (failing !== 'record' && !failing())) return store.write(work);
      const recorded = await rollBack(store, work);
      // The scheduler's concurrent writes are not affected.
      if (failing === 'record' && !recorded) return store.write(work);
      failing = null;
      throw failed();
    },
  };
  return failingStore;
}

/** A store that commits some writes although their writer gets `outcome_unknown`: as many as `doubts` says. */
export function committingInDoubt<S extends Store>(store: S): S & { doubts: number } {
  const doubting = {
    ...store,
    doubts: 0,
    write: async <T>(work: Work<T>): Promise<T> => {
      const value = await store.write(work);
      if (doubting.doubts === 0) return value;
      doubting.doubts -= 1;
      throw new SubstratError('outcome_unknown', 'The connection to the store was lost during the commit.');
    },
  };
  return doubting;
}

/** Makes an open store fail as long as `reads` or `writes` is set; counts failures. */
export function troubleIn(store: Store): { reads: boolean; writes: boolean; doubts: number; failed: number } {
  const { read, write } = store;
  const trouble = { reads: false, writes: false, doubts: 0, failed: 0 };
  const fail = (code: 'store' | 'outcome_unknown') => {
    trouble.failed += 1;
    return Promise.reject(new SubstratError(code, 'The store fails.'));
  };
  const failing: Pick<Store, 'read' | 'write'> = {
    read: (work) => (trouble.reads ? fail('store') : read(work)),
    write: async (work) => {
      if (trouble.writes) return fail('store');
      const value = await write(work);
      if (trouble.doubts === 0) return value;
      trouble.doubts -= 1;
      return fail('outcome_unknown');
    },
  };
  Object.assign(store, failing);
  return trouble;
}

/** Whether the work added to a run's record. */
async function rollBack<T>(store: Store, work: Work<T>): Promise<boolean> {
  let recorded = false;
  const rolledBack = store.write(async (tx) => {
    const insertRecord: Tx['records']['insertRecord'] = (record) => {
      recorded = true;
      return tx.records.insertRecord(record);
    };
    await work({ ...tx, records: { ...tx.records, insertRecord } });
    throw new RolledBack();
  });
  await rolledBack.catch(() => {});
  return recorded;
}
