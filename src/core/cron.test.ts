import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { nextTime, readCron } from './cron.ts';
import { checkTimeZone } from './local-times.ts';

const MINUTE = 60_000;
const next = (text: string, after: string, zone = 'UTC') => {
  const at = nextTime(readCron(text), zone, Date.parse(after));
  return at === null ? null : new Date(at).toISOString().replace(':00.000Z', 'Z');
};

describe('nextTime()', () => {
  test.each([
    ['* * * * *', '2026-01-01T00:00:00Z', '2026-01-01T00:01Z'],
    ['*/15 * * * *', '2026-01-01T00:59:59Z', '2026-01-01T01:00Z'],
    ['30 8 * * mon-fri', '2026-01-02T08:30:00Z', '2026-01-05T08:30Z'],
    ['0 0 29 2 *', '2026-01-01T00:00:00Z', '2028-02-29T00:00Z'],
    ['0 0 1,15 * 5', '2026-01-03T00:00:00Z', '2026-01-09T00:00Z'],
    ['0 12 * * 7', '2026-01-01T00:00:00Z', '2026-01-04T12:00Z'],
    ['5/20 3 * jan,DEC *', '2026-01-31T23:00:00Z', '2026-12-01T03:05Z'],
  ])('of %s after %s is %s', (text, after, expected) => {
    expect(next(text, after)).toBe(expected);
  });

  test('follows the wall clock of a time zone: a skipped time is made up for, a repeated one happens once', () => {
    const berlin = (text: string, after: string) => next(text, after, 'Europe/Berlin');
    // The clock goes from 2:00 to 3:00 on March 29, and from 3:00 to 2:00 on October 25.
    expect(berlin('30 8 * * *', '2026-03-28T08:00:00Z')).toBe('2026-03-29T06:30Z');
    expect(berlin('30 2 * * *', '2026-03-28T08:00:00Z')).toBe('2026-03-29T01:30Z');
    expect(berlin('30 2 * * *', '2026-03-29T01:30:00Z')).toBe('2026-03-30T00:30Z');
    expect(berlin('30 2 * * *', '2026-10-24T12:00:00Z')).toBe('2026-10-25T00:30Z');
    expect(berlin('30 2 * * *', '2026-10-25T00:30:00Z')).toBe('2026-10-26T01:30Z');
    // Every hour is every hour.
    expect(berlin('30 * * * *', '2026-10-25T00:30:00Z')).toBe('2026-10-25T01:30Z');
    expect(berlin('30 * * * *', '2026-03-29T00:30:00Z')).toBe('2026-03-29T01:30Z');
    expect(next('0 0 * * *', '2026-01-01T00:00:00Z', 'Pacific/Kiritimati')).toBe('2026-01-01T10:00Z');
    expect(next('0 0 * * *', '2026-01-01T00:00:00Z', 'Asia/Kathmandu')).toBe('2026-01-01T18:15Z');
  });

  const field = (first: number, last: number) =>
    fc.oneof(
      fc.constant('*'),
      fc.integer({ min: 2, max: 20 }).map((step) => `*/${step}`),
      fc.uniqueArray(fc.integer({ min: first, max: last }), { minLength: 1, maxLength: 3 }).map(String),
      fc
        .tuple(fc.integer({ min: first, max: last }), fc.integer({ min: first, max: last }))
        .map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`),
    );
  const line = fc
    .tuple(field(0, 59), field(0, 23), field(1, 28), fc.constant('*'), field(0, 6))
    .map((all) => all.join(' '));
  const moment = fc.integer({ min: Date.UTC(2020), max: Date.UTC(2030) });

  test('is the first minute that matches, found by looking at every minute', () => {
    fc.assert(
      fc.property(line, moment, (text, after) => {
        const [minutes, hours, days, , weekdays] = text.split(' ').map((part) => part as string) as string[];
        const matches = (part: string | undefined, number: number, first = 0) =>
          readAlone(part ?? '', first).has(number);
        const found = nextTime(readCron(text), 'UTC', after) as number;
        expect(found).toBeGreaterThan(after);
        // Not farther than a day, to stay fast.
        const end = Math.min(found, after + 86_400_000);
        for (let at = Math.floor(after / MINUTE) * MINUTE + MINUTE; at <= end; at += MINUTE) {
          const date = new Date(at);
          const isDay = matches(days, date.getUTCDate(), 1);
          const isWeekday = matches(weekdays, date.getUTCDay());
          const either = !days?.startsWith('*') && !weekdays?.startsWith('*');
          const due =
            matches(minutes, date.getUTCMinutes()) &&
            matches(hours, date.getUTCHours()) &&
            (either ? isDay || isWeekday : isDay && isWeekday);
          expect(due).toBe(at === found);
        }
      }),
      { numRuns: 100 },
    );
  });

  test('never stands still and never goes back, in any time zone', () => {
    const zones = fc.constantFrom('Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kathmandu');
    fc.assert(
      fc.property(line, zones, moment, (text, zone, after) => {
        const cron = readCron(text);
        const one = nextTime(cron, zone, after) as number;
        const two = nextTime(cron, zone, one) as number;
        expect(one).toBeGreaterThan(after);
        expect(two).toBeGreaterThan(one);
        // Nothing is between: it is the same seen from any moment before.
        expect(nextTime(cron, zone, one - 1)).toBe(one);
        expect(nextTime(cron, zone, Math.floor((after + one) / 2))).toBe(one);
      }),
      { numRuns: 100 },
    );
  });
});

describe('readCron()', () => {
  test.each([
    ['', /five fields/],
    ['* * * *', /five fields/],
    ['* * * * * *', /five fields/],
    ['60 * * * *', /the minute has "60", which is not from 0 to 59/],
    ['* 24 * * *', /the hour/],
    ['* * 0 * *', /the day of the month/],
    ['* * * 13 *', /the month/],
    ['* * * * fry', /the day of the week/],
    ['*/0 * * * *', /the minute has "\*\/0"/],
    ['5-1 * * * *', /ends before it begins/],
    ['1-2-3 * * * *', /not a range/],
    [', * * * *', /the minute/],
    ['0 0 30 2 *', /no such day/],
    ['@daily', /five fields/],
    [`${'1,'.repeat(200)}1 * * * *`, /five fields/],
  ])('refuses %j', (text, message) => {
    expect(() => readCron(text)).toThrow(message);
  });

  test('never throws anything else', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'0123456789*/-, jan') }), (text) => {
        try {
          readCron(text);
        } catch (error) {
          expect(String(error)).toMatch(/is not a cron line/);
        }
      }),
    );
  });
});

test('time zones are checked', () => {
  checkTimeZone('Europe/Berlin');
  expect(() => checkTimeZone('Mars/Olympus')).toThrow('There is no time zone "Mars/Olympus"');
});

/** Only what the property test writes. */
function readAlone(part: string, first: number): Set<number> {
  const upTo = (last: number, from: number) => Array.from({ length: last - from + 1 }, (_, n) => n + from);
  if (part.startsWith('*')) {
    const step = Number(part.split('/')[1] ?? 1);
    return new Set(upTo(60, first).filter((n) => (n - first) % step === 0));
  }
  const [from, to] = part.split('-').map(Number);
  return new Set(to === undefined ? part.split(',').map(Number) : upTo(to, from ?? 0));
}
