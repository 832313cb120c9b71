import type { Timer } from '../core/timer.ts';
import type { BatchState } from './batch.ts';
import { isOneOf, listOf } from './key-list.ts';
import type { Queries } from './query.ts';

/** Due times of what has no row of its own with a time in it. */
export interface Timers {
  /** In place of the one of that kind and key, if there is one. */
  setTimer(timer: Timer): Promise<void>;
  tryCancelTimer(p: Pick<Timer, 'kind' | 'key'>): Promise<boolean>;
  /** The first to be due, of other kinds than `except`. */
  getNextTimer(p: { except: readonly string[] }): Promise<Timer | null>;
}

export function timerQueries({ engine, db, one, put, attempt }: Queries, batch: BatchState): Timers {
  const set = put((p: Timer) =>
    db
      .insertInto('timers')
      .values({ kind: p.kind, key: p.key, due: p.due })
      .onConflict((conflict) =>
        conflict.columns(['kind', 'key']).doUpdateSet((eb) => ({ due: eb.ref('excluded.due') })),
      ),
  );
  const next = one((p: { except: string }) =>
    db
      .selectFrom('timers')
      .selectAll()
      .where((eb) => eb.not(isOneOf(engine, 'kind', p.except, 'text')))
      .orderBy('due')
      .orderBy('kind')
      .orderBy('key')
      .limit(1),
  );

  return {
    setTimer: async (timer) => {
      await set(timer);
      // It may be due before what the scheduler waits for.
      batch.runnable = true;
    },
    tryCancelTimer: attempt((p: { kind: string; key: string }) =>
      db.deleteFrom('timers').where('kind', '=', p.kind).where('key', '=', p.key),
    ),
    getNextTimer: ({ except }) => next({ except: listOf(engine, except) }),
  };
}
