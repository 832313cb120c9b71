import type { Timer } from '../core/timer.ts';
import type { BatchState } from './batch.ts';
import { isOneOf, listOf } from './key-list.ts';
import type { Queries } from './query.ts';
import type { Timers } from './tx.ts';

export function timerQueries({ engine, db, all, one, put, attempt }: Queries, batch: BatchState): Timers {
  const set = put((p: Timer) =>
    db
      .insertInto('timers')
      .values({ kind: p.kind, key: p.key, due: p.due })
      .onConflict((conflict) =>
        conflict.columns(['kind', 'key']).doUpdateSet((eb) => ({ due: eb.ref('excluded.due') })),
      ),
  );
  const inOrder = (except: unknown) =>
    db
      .selectFrom('timers')
      .selectAll()
      .where((eb) => eb.not(isOneOf(engine, 'kind', except, 'text')))
      .orderBy('due')
      .orderBy('kind')
      .orderBy('key');
  const due = all((p: { now: number; except: string; limit: number }) =>
    inOrder(p.except).where('due', '<=', p.now).limit(p.limit),
  );
  const next = one((p: { except: string }) => inOrder(p.except).limit(1));

  return {
    setTimer: async (timer) => {
      await set(timer);
      // It may be due before what the scheduler waits for.
      batch.runnable = true;
    },
    tryCancelTimer: attempt((p: { kind: string; key: string }) =>
      db.deleteFrom('timers').where('kind', '=', p.kind).where('key', '=', p.key),
    ),
    listDueTimers: ({ now, except, limit }) => due({ now, except: listOf(engine, except), limit }),
    getNextTimer: ({ except }) => next({ except: listOf(engine, except) }),
  };
}
