/** Lets one at a time through for each key, in the order of coming. */
export function createTurnstile() {
  const last = new Map<string, Promise<void>>();

  /** Resolves to what lets the next one through; null when the signal came first. */
  return async (key: string, signal: AbortSignal): Promise<(() => void) | null> => {
    const before = last.get(key) ?? Promise.resolve();
    const { promise: left, resolve: leave } = Promise.withResolvers<void>();
    const through = before.then(() => left);
    last.set(key, through);
    void through.then(() => last.get(key) === through && last.delete(key));
    await Promise.race([before, aborted(signal)]);
    if (!signal.aborted) return leave;
    leave();
    return null;
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
