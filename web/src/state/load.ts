import { useCallback, useEffect, useState } from 'preact/hooks';
import type { SubstratEvent } from '../../../src/client/browser.ts';
import { onEvent, onReread } from './live.ts';

export interface Loaded<T> {
  /** What was read last; null before the first time. It stays while it is read again. */
  readonly value: T | null;
  readonly problem: string | null;
  readonly reload: () => void;
}

const PAUSE_MS = 300;

/**
 * Reads something for as long as it is shown: now, whenever the page is live again, and after events that concern it.
 * `key` says what is read; another key forgets the value.
 */
export function useLoad<T>(
  key: string,
  read: () => Promise<T>,
  concerns?: (event: SubstratEvent) => boolean,
): Loaded<T> {
  const [state, setState] = useState<{ key: string; value: T | null; problem: string | null }>({
    key,
    value: null,
    problem: null,
  });
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    let gone = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const load = (): void => {
      timer = undefined;
      read().then(
        (value) => {
          if (!gone) setState({ key, value, problem: null });
        },
        (error: Error) => {
          if (!gone)
            setState((before) => ({ key, value: before.key === key ? before.value : null, problem: error.message }));
        },
      );
    };
    load();
    // It is called at once if the page is live; that one was just read.
    let first = true;
    const stopRereads = onReread(() => {
      if (!first) load();
    });
    first = false;
    const stopEvents = onEvent((event) => {
      if (concerns?.(event) && timer === undefined) timer = setTimeout(load, PAUSE_MS);
    });
    return () => {
      gone = true;
      clearTimeout(timer);
      stopRereads();
      stopEvents();
    };
  }, [key, attempt]);
  const reload = useCallback(() => setAttempt((n) => n + 1), []);
  const mine = state.key === key;
  return { value: mine ? state.value : null, problem: mine ? state.problem : null, reload };
}
