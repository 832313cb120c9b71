import type { AdmitRequest } from '../core/command.ts';
import type { Prices } from '../core/usage.ts';
import type { Store } from '../store/store.ts';
import type { ActiveAttempt } from './attempt.ts';
import { admit, type Exhausted, type Worst } from './budgets.ts';

/**
 * Admits a model request of an attempt only if what it can use at most fits into its budgets. One that does not fit waits
 * for those of the same turn that are in progress; if there are none, it is refused, and the turn ends.
 */
export function admitRequests({
  attempt,
  store,
  clock,
  price,
  refuse,
}: {
  readonly attempt: ActiveAttempt;
  readonly store: Store;
  readonly clock: () => number;
  readonly price: (model: string | null) => Prices | null;
  readonly refuse: (exhausted: Exhausted) => void;
}): AdmitRequest {
  const open = new Set<Worst>();
  let changed = Promise.withResolvers<void>();
  const hold = () => {
    const sum = (unit: keyof Worst) => [...open].reduce((total, worst) => total + worst[unit], 0);
    attempt.admitted.held = { tokens: sum('tokens'), usd: sum('usd') };
  };
  const ask: AdmitRequest = async (request) => {
    if (!attempt.budgeted) return { outputTokens: request.outputTokens, over: () => {} };
    const before = changed;
    const numbers = { price: price(request.model), usage: attempt.usage.sum() };
    const granted = await store.write((tx) => admit(tx, attempt, request, numbers, clock()), `tree ${attempt.treeId}`);
    if ('why' in granted) {
      // What was in progress when it was asked is over, or will be.
      if (changed !== before || open.size > 0) {
        if (changed === before) await changed.promise;
        return ask(request);
      }
      refuse(granted);
      return null;
    }
    const { worst, planned, outputTokens } = granted;
    open.add(worst);
    for (const [budgetId, reserved] of planned) attempt.admitted.planned.set(budgetId, reserved);
    hold();
    const over = () => {
      if (!open.delete(worst)) return;
      hold();
      changed.resolve();
      changed = Promise.withResolvers<void>();
    };
    return { outputTokens, over };
  };
  // One after the other: each has to see what those before it hold.
  let last: Promise<unknown> = Promise.resolve();
  return (request) => {
    const next = last.then(() => ask(request));
    last = next.catch(() => {});
    return next;
  };
}
