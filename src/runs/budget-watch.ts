import type { ProviderEvent } from '../providers/provider.ts';
import type { Exhausted } from './budgets.ts';

/** How long a turn whose budget is used up may finish its tool calls. */
export const STOP_AFTER_MS = 60_000;

export interface BudgetWatch {
  /** Ends the turn. */
  readonly signal: AbortSignal;
  /** The turn has used more. */
  used(): void;
  /** Writes what was used, and stops the turn if a budget is used up. */
  check(): Promise<void>;
  /** A model request did not fit: the turn ends. */
  refuse(exhausted: Exhausted): void;
  saw(event: ProviderEvent): void;
  close(): void;
}

/**
 * Follows what a turn draws from its budgets. When one is used up, the turn ends after the tool calls in progress, at the
 * latest after a minute.
 */
export function watchBudgets({
  settle,
  stopAfterMs,
  onStop,
  onFailure,
}: {
  readonly settle: () => Promise<Exhausted | null>;
  readonly stopAfterMs: number;
  readonly onStop: (exhausted: Exhausted) => void;
  readonly onFailure: (error: Error) => void;
}): BudgetWatch {
  const ending = new AbortController();
  const calls = new Set<string>();
  let stopping = false;
  let timer: NodeJS.Timeout | null = null;
  let settling: Promise<void> | null = null;
  let again = false;

  const endIfFree = () => {
    if (stopping && calls.size === 0) ending.abort();
  };
  const stop = (exhausted: Exhausted) => {
    if (stopping) return;
    stopping = true;
    onStop(exhausted);
    timer = setTimeout(() => ending.abort(), stopAfterMs);
    endIfFree();
  };
  const settleAll = async () => {
    do {
      again = false;
      const exhausted = await settle();
      if (exhausted) stop(exhausted);
    } while (again);
  };
  const check = (): Promise<void> => {
    again = true;
    settling ??= settleAll()
      .catch(onFailure)
      .finally(() => {
        settling = null;
      });
    return settling;
  };
  return {
    signal: ending.signal,
    used: () => void check(),
    check,
    refuse: stop,
    saw: (event) => {
      if (event.type === 'tool_call') calls.add(event.id);
      if (event.type !== 'tool_result') return;
      calls.delete(event.id);
      endIfFree();
    },
    close: () => {
      if (timer) clearTimeout(timer);
    },
  };
}
