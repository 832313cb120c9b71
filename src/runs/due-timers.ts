import type { Due } from '../core/due.ts';
import type { Timer } from '../core/timer.ts';
import type { Tx } from './tx.ts';

/** Called in the transaction that deletes the timer, so its effect happens once. It may set the timer again. */
export type FireTimer = (tx: Tx, timer: Timer, now: number) => Promise<void>;

export interface DueTimersOptions {
  /** By kind. */
  readonly handlers: ReadonlyMap<string, FireTimer>;
  readonly log: { warn(details: object, message: string): void };
}

/** Many timers that became due while no daemon ran must not keep other writers waiting. */
const MOST_AT_ONCE = 100;

/** Fires timers by the handlers of their kinds. One without a handler stays as it is: another version may know it. */
export function dueTimers({ handlers, log }: DueTimersOptions): Due<Tx> {
  const unknown = new Set<string>();
  return {
    next: async (tx) => {
      for (;;) {
        const timer = await tx.timers.getNextTimer({ except: [...unknown] });
        if (!timer || handlers.has(timer.kind)) return timer?.due ?? null;
        unknown.add(timer.kind);
        log.warn({ kind: timer.kind }, 'nothing here handles timers of this kind; they stay in the store');
      }
    },
    fire: async (tx, now) => {
      const except = [...unknown];
      for (let left = MOST_AT_ONCE; left > 0; left -= 1) {
        // One by one: a handler may cancel or move a timer that was due.
        const timer = await tx.timers.getNextTimer({ except });
        if (!timer || timer.due > now) return false;
        const handler = handlers.get(timer.kind);
        if (!handler) {
          except.push(timer.kind);
          continue;
        }
        if (!(await tx.timers.tryCancelTimer(timer))) continue;
        const fired: Promise<void> = handler(tx, timer, now);
        await fired;
      }
      return true;
    },
  };
}
