/** How long a command may take to end after a signal. */
const GRACE_MS = 3000;

/**
 * Aborts when the process is told to end by SIGINT or SIGTERM. A command that has not ended after a grace period, because
 * something in it hangs, is ended by the signal itself; so is one that gets a second signal.
 */
export function untilInterrupted(reason?: unknown): AbortSignal {
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    // Once it has been called, it is removed, and the signal has its usual effect again.
    process.once(signal, () => {
      interrupted.abort(reason);
      setTimeout(() => process.kill(process.pid, signal), GRACE_MS).unref();
    });
  }
  return interrupted.signal;
}
