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

/** A store whose next write that `fails` accepts is executed, and then its commit fails. */
export function failingAtCommit(store: Store): Store & { failNext(fails?: () => boolean): void } {
  let failing: (() => boolean) | null = null;
  return {
    ...store,
    failNext: (fails = () => true) => {
      failing = fails;
    },
    write: async (work) => {
      if (!failing?.()) return store.write(work);
      failing = null;
      await rollBack(store, work);
      throw new SubstratError('store', 'The store could not write: the commit failed.');
    },
  };
}

async function rollBack<T>(store: Store, work: Work<T>): Promise<void> {
  const rolledBack = store.write(async (tx) => {
    await work(tx);
    throw new RolledBack();
  });
  await rolledBack.catch(() => {});
}
