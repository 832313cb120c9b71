import { setTimeout as pause } from 'node:timers/promises';
import { troubleOf } from '../core/failure.ts';

/** After a stop, this long is waited for a store that does not answer. What it then lacks, the next start writes. */
const STOP_PATIENCE_MS = 10_000;
const SHORTEST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2_000;

export interface Patience {
  /** Once aborted, tries go on for `STOP_PATIENCE_MS` only. */
  readonly signal: AbortSignal;
  readonly onFailure?: (error: Error) => void;
}

/**
 * Repeats work on the store while the store or the machine fails, and rejects with any other error. What an earlier try
 * did after all, the work has to notice itself.
 */
export async function untilStored<T>(work: () => Promise<T>, { signal, onFailure }: Patience): Promise<T> {
  let stopped: number | null = null;
  for (let wait = SHORTEST_PAUSE_MS; ; wait = Math.min(wait * 2, LONGEST_PAUSE_MS)) {
    try {
      return await work();
    } catch (error) {
      if (troubleOf(error) === null) throw error;
      onFailure?.(error as Error);
      if (signal.aborted) stopped ??= performance.now();
      if (stopped !== null && performance.now() - stopped > STOP_PATIENCE_MS) throw error;
    }
    await pause(wait);
  }
}
