import { SubstratError } from './errors.ts';
import { shorten } from './text.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

interface TimesOfDay {
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  /** See `Cron`. */
  readonly isAnyHour: boolean;
}

/** The moments at which the clocks of a time zone show these times on a day, which is its number since 1970. */
export function localTimes(timeZone: string, day: number, { hours, minutes, isAnyHour }: TimesOfDay): number[] {
  const midnight = day * DAY_MS;
  // Wherever it is, the day lies between these.
  const before = offsetAt(timeZone, midnight - 14 * HOUR_MS);
  const after = offsetAt(timeZone, midnight + DAY_MS + 14 * HOUR_MS);
  const times = new Set<number>();
  for (const hour of hours) {
    for (const minute of minutes) {
      const local = midnight + hour * HOUR_MS + minute * MINUTE_MS;
      const moments = [local - before, local - after].filter(
        (at) => before === after || showsAt(timeZone, at) === local,
      );
      // The clock skips it: it is due as if the clock had not been changed.
      if (moments.length === 0 && !isAnyHour) moments.push(local - before);
      if (moments.length === 0) continue;
      times.add(Math.min(...moments));
      if (isAnyHour) times.add(Math.max(...moments));
    }
  }
  return [...times];
}

/** The day that the clocks of a time zone show, as the number of days since 1970. */
export function dayIn(timeZone: string, at: number): number {
  return Math.floor(showsAt(timeZone, at) / DAY_MS);
}

/** When the next day begins there: a day may have 23 or 25 hours, and not every one begins at 00:00. */
export function dayEndIn(timeZone: string, at: number): number {
  const day = dayIn(timeZone, at);
  let [during, after] = [at, at + DAY_MS + 2 * HOUR_MS];
  while (after - during > 1) {
    const middle = Math.floor((during + after) / 2);
    if (dayIn(timeZone, middle) > day) after = middle;
    else during = middle;
  }
  return after;
}

/** Throws if there is no such time zone. */
export function checkTimeZone(name: string): void {
  try {
    formatterOf(name);
  } catch {
    throw new SubstratError(
      'bad_request',
      `There is no time zone "${shorten(name)}". Use one such as "Europe/Berlin".`,
    );
  }
}

/** The time zone of this machine. */
export function ownTimeZone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone;
}

function showsAt(timeZone: string, at: number): number {
  return at + offsetAt(timeZone, at);
}

/** By how much the clocks of a time zone are ahead of UTC. */
function offsetAt(timeZone: string, at: number): number {
  if (timeZone === 'UTC') return 0;
  const part = Object.fromEntries(
    formatterOf(timeZone)
      .formatToParts(at)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = part;
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(at / 1000) * 1000;
}

/** Making one costs a hundred times as much as using it. */
const formatters = new Map<string, Intl.DateTimeFormat>();

function formatterOf(timeZone: string): Intl.DateTimeFormat {
  let formatter = formatters.get(timeZone);
  if (!formatter) {
    const numeric = 'numeric';
    const fields = {
      year: numeric,
      month: numeric,
      day: numeric,
      hour: numeric,
      minute: numeric,
      second: numeric,
    } as const;
    formatter = new Intl.DateTimeFormat('en-US', { timeZone, hourCycle: 'h23', ...fields });
    formatters.set(timeZone, formatter);
  }
  return formatter;
}
