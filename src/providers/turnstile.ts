/** A lock per key, granted in the order of requests. */
export function createTurnstile() {
  const last = new Map<string, Promise<void>>();

  /** Resolves to a function that releases the lock; null if the signal aborted first. */
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
