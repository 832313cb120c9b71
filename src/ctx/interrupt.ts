/** How long a command may take to end after a signal. */
const GRACE_MS = 3000;

/**
 * Aborts on SIGINT or SIGTERM. A command that has not ended after a grace period, or that gets a second signal, is
 * killed by the signal itself.
 */
export function untilInterrupted(reason?: unknown): AbortSignal {
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    // Removed after the first call, so that the signal has its default effect again.
    process.once(signal, () => {
      interrupted.abort(reason);
      setTimeout(() => process.kill(process.pid, signal), GRACE_MS).unref();
    });
  }
  return interrupted.signal;
}
