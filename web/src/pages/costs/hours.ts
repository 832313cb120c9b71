import type { Run } from '../../../../src/client/browser.ts';

/** What happened in one hour. */
export interface Hour {
  /** When it began. */
  readonly at: number;
  readonly runs: number;
  readonly failed: number;
  /** How long runs waited for their start, in seconds: the median. */
  readonly wait: number;
  /** How many runs waited at once, at most. */
  readonly queue: number;
}

const HOUR_MS = 3_600_000;

/** The hours up to now, oldest first, from the runs that are known. */
export function toHours(runs: readonly Run[], now: number, count: number): Hour[] {
  const last = Math.floor(now / HOUR_MS) * HOUR_MS;
  return Array.from({ length: count }, (_, i) => {
    const at = last - (count - 1 - i) * HOUR_MS;
    const isIn = (time: string | null): boolean => {
      const place = Date.parse(time ?? '') - at;
      return place >= 0 && place < HOUR_MS;
    };
    const started = runs.filter(({ startedAt }) => isIn(startedAt));
    const waits = started
      .map((run) => Date.parse(run.startedAt ?? '') - Date.parse(run.createdAt))
      .sort((a, b) => a - b);
    return {
      at,
      runs: started.length,
      failed: runs.filter(({ state, endedAt }) => state === 'failed' && isIn(endedAt)).length,
      wait: (waits[Math.floor(waits.length / 2)] ?? 0) / 1000,
      queue: longestQueue(runs, at, Math.min(at + HOUR_MS, now), now),
    };
  });
}

/** The queue is longest when one joins it, or at the beginning. */
function longestQueue(runs: readonly Run[], from: number, to: number, now: number): number {
  const spans = runs.map((run) => ({
    since: Date.parse(run.createdAt),
    until: Date.parse(run.startedAt ?? run.endedAt ?? '') || now,
  }));
  const here = spans.filter(({ since, until }) => since < to && until > from);
  const moments = [from, ...here.map(({ since }) => since).filter((since) => since >= from)];
  return Math.max(0, ...moments.map((t) => here.filter(({ since, until }) => since <= t && until > t).length));
}
