const BEGINNING = Date.UTC(2026, 0);
/** More events than any store appends in a millisecond. */
const EVENTS_PER_MS = 100;
/** Where the clock was wrong. */
const LEAST = 1_000_000_000;

/**
 * The number after which a restored or copied store numbers its events, so that none is the number of another event
 * in any other history of the same backup: numbers follow the time, and time passes faster than events are appended.
 * A reader of another history is behind this number, where nothing is stored.
 */
export function nextEpoch(last: number, now: number): number {
  return Math.max(last + LEAST, (now - BEGINNING) * EVENTS_PER_MS);
}
