import type { Said } from '../cli.ts';
import { failed } from '../verdict.ts';

/** A program that waits longer than this for its limit is ended: Substrat waits without a process. */
const PATIENCE_MS = 20_000;

/** What the events of a turn say about limits. */
export function createLimits(now: () => number = Date.now) {
  let retryMs: number | null = null;
  let resetsAt: number | null = null;
  return {
    /** The program is about to try again. */
    retries(status: number | null, delayMs: number): Said[] {
      if (status === 429) retryMs = delayMs;
      if (delayMs <= PATIENCE_MS) return [];
      const message = `The model's service answered ${status ?? 'with an error'} and asks to wait ${Math.round(delayMs / 1_000)} s.`;
      return [{ type: 'stop', failure: failed(message, { status, retryAfterMs: delayMs }) }];
    },
    /** The state of the account's limit; `resetsAt` is in seconds. */
    reports({ status, resetsAt: seconds }: { readonly status: string; readonly resetsAt?: number | undefined }): void {
      resetsAt = status === 'rejected' && seconds !== undefined ? seconds * 1_000 : null;
    },
    /** How long to wait; null if nothing was said. */
    waitMs: (): number | null => (resetsAt === null ? retryMs : Math.max(0, resetsAt - now())),
  };
}
