import { SubstratError } from './errors.ts';
import { localTimes } from './local-times.ts';
import { shorten } from './text.ts';

/** When something is due by the wall clock: minute, hour, day of the month, month and day of the week. */
export interface Cron {
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  readonly days: ReadonlySet<number>;
  readonly months: ReadonlySet<number>;
  readonly weekdays: ReadonlySet<number>;
  /** If both are restricted, either day matches, as in every cron. */
  readonly isAnyDay: boolean;
  readonly isAnyWeekday: boolean;
  /** It follows the clock around: an hour that happens twice counts twice, and a skipped one is not made up for. */
  readonly isAnyHour: boolean;
}

const DAY_MS = 86_400_000;
/** Two leap days are at most 8 years apart. */
const MOST_DAYS = 8 * 366 + 2;
const LONGEST = 200;
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const WEEKDAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

/** Reads five fields such as `30 8 * * mon-fri`. */
export function readCron(text: string): Cron {
  const fields = text.length > LONGEST ? [] : text.trim().split(/\s+/);
  const [minute, hour, day, month, weekday] = fields;
  if (fields.length !== 5 || !minute || !hour || !day || !month || !weekday) {
    throw wrong(text, 'it must have five fields: minute, hour, day of the month, month, day of the week');
  }
  const read = (field: string, what: string, range: Range) =>
    readField(field, range, (why) => wrong(text, `${what} ${why}`));
  const cron: Cron = {
    minutes: read(minute, 'the minute', { first: 0, last: 59 }),
    hours: read(hour, 'the hour', { first: 0, last: 23 }),
    days: new Set(read(day, 'the day of the month', { first: 1, last: 31 })),
    months: new Set(read(month, 'the month', { first: 1, last: 12, names: MONTHS })),
    // Sunday is 0 and 7.
    weekdays: new Set(
      read(weekday, 'the day of the week', { first: 0, last: 7, names: WEEKDAYS }).map((number) => number % 7),
    ),
    isAnyDay: day.startsWith('*'),
    isAnyWeekday: weekday.startsWith('*'),
    isAnyHour: hour === '*',
  };
  if (nextTime(cron, 'UTC', 0) === null) throw wrong(text, 'there is no such day');
  return cron;
}

/**
 * The first time after `after` (in milliseconds) at which it is due in the time zone. A time of day that the clock skips is due when the
 * clock has skipped it; one that happens twice is due the first time. Null if there is none.
 */
export function nextTime(cron: Cron, timeZone: string, after: number): number | null {
  // One day earlier: time zones are at most 14 hours from UTC.
  const first = Math.floor(after / DAY_MS) - 1;
  for (let day = first; day < first + MOST_DAYS; day += 1) {
    if (!isDue(cron, day)) continue;
    const times = localTimes(timeZone, day, cron).filter((time) => time > after);
    if (times.length > 0) return Math.min(...times);
  }
  return null;
}

/** Whether a day, as its number since 1970, is one of its days. */
function isDue({ days, months, weekdays, isAnyDay, isAnyWeekday }: Cron, day: number): boolean {
  const date = new Date(day * DAY_MS);
  if (!months.has(date.getUTCMonth() + 1)) return false;
  const isDay = days.has(date.getUTCDate());
  const isWeekday = weekdays.has(date.getUTCDay());
  return isAnyDay || isAnyWeekday ? isDay && isWeekday : isDay || isWeekday;
}

interface Range {
  readonly first: number;
  readonly last: number;
  /** In place of the numbers, from `first` on. */
  readonly names?: readonly string[];
}

/** The numbers of a field, in order. */
function readField(field: string, { first, last, names = [] }: Range, fail: (why: string) => Error): number[] {
  const numbers = new Set<number>();
  const numberOf = (word: string): number => {
    const at = names.indexOf(word.toLowerCase());
    const number = at >= 0 ? at + first : /^\d{1,2}$/.test(word) ? Number(word) : Number.NaN;
    if (!(number >= first && number <= last)) throw fail(`has "${word}", which is not from ${first} to ${last}`);
    return number;
  };
  for (const part of field.split(',')) {
    const [, range = '', step] = /^([^/]*)(?:\/(\d{1,2}))?$/.exec(part) ?? [];
    const by = step === undefined ? 1 : Number(step);
    if (range === '' || by === 0) throw fail(`has "${part}", which is not a number, a range or "*"`);
    const [from = '', to, ...more] = range === '*' ? [String(first), String(last)] : range.split('-');
    if (more.length > 0) throw fail(`has "${part}", which is not a range`);
    const start = numberOf(from);
    // `5/10` means from 5 on, every 10.
    const end = to === undefined ? (step === undefined ? start : last) : numberOf(to);
    if (end < start) throw fail(`has the range "${range}", which ends before it begins`);
    for (let number = start; number <= end; number += by) numbers.add(number);
  }
  return [...numbers].sort((a, b) => a - b);
}

function wrong(text: string, why: string): SubstratError {
  return new SubstratError('bad_request', `"${shorten(text)}" is not a cron line: ${why}.`);
}
