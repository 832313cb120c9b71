import { setTimeout as pause } from 'node:timers/promises';
import { troubleOf } from '../core/failure.ts';
import type { Store } from '../store/store.ts';

/** After a stop, how long to wait for an unavailable store. The next start writes what is missing. */
const STOP_PATIENCE_MS = 10_000;
const SHORTEST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2_000;

export interface Patience {
  readonly store: Pick<Store, 'problem'>;
  /** Once aborted, retries continue for `STOP_PATIENCE_MS` only, and not at all if the store's file is lost. */
  readonly signal: AbortSignal;
  readonly onFailure?: (error: Error) => void;
}

/**
 * Retries work on the store while the store or the machine fails; rejects with any other error. The work itself must
 * detect that an earlier try took effect.
 */
export async function untilStored<T>(work: () => Promise<T>, { store, signal, onFailure }: Patience): Promise<T> {
  let stopped: number | null = null;
  for (let wait = SHORTEST_PAUSE_MS; ; wait = Math.min(wait * 2, LONGEST_PAUSE_MS)) {
    try {
      return await work();
    } catch (error) {
      if (troubleOf(error) === null) throw error;
      onFailure?.(error as Error);
      if (signal.aborted) stopped ??= performance.now();
      const hopeless = store.problem() !== null;
      if (stopped !== null && (hopeless || performance.now() - stopped > STOP_PATIENCE_MS)) throw error;
    }
    await pause(wait);
  }
}
