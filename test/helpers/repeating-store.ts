import { SubstratError } from '../../src/core/errors.ts';
import type { Store, Tx } from '../../src/store/store.ts';

type Work<T> = (tx: Tx) => Promise<T>;

class RolledBack extends Error {}

/**
 * Executes every write twice; the first execution is rolled back, as when a commit meets a conflict and is tried again.
 * Whatever a write changes outside of its transaction is then changed twice, and tests notice.
 */
export function writingTwice(store: Store): Store {
  return {
    ...store,
    // Both are queued at once, so that nobody else writes or reads between them.
    write: async (work) => {
      const [, value] = await Promise.all([rollBack(store, work), store.write(work)]);
      return value;
    },
  };
}

/** A store whose next write that `fails` accepts is executed, and then its commit fails; while it is down, all fail. */
export function failingAtCommit(store: Store): Store & { failNext(fails?: () => boolean): void; down: boolean } {
  let failing: (() => boolean) | null = null;
  const failed = () => new SubstratError('store', 'The store could not write: the commit failed.');
  const failingStore = {
    ...store,
    down: false,
    failNext: (fails = () => true) => {
      failing = fails;
    },
    write: async <T>(work: Work<T>): Promise<T> => {
      if (!failingStore.down && !failing?.()) return store.write(work);
      if (!failingStore.down) failing = null;
      await rollBack(store, work);
      throw failed();
    },
  };
  return failingStore;
}

async function rollBack<T>(store: Store, work: Work<T>): Promise<void> {
  const rolledBack = store.write(async (tx) => {
    await work(tx);
    throw new RolledBack();
  });
  await rolledBack.catch(() => {});
}
