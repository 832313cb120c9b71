import { describe, expect, test } from 'vitest';
import { dayEndIn, dayIn } from './local-times.ts';

const HOUR = 3_600_000;
const at = (time: string) => Date.parse(time);

describe('the days of a time zone', () => {
  test.each([
    ['UTC', '2027-03-28T23:59:59.999Z', '2027-03-28'],
    ['Europe/Berlin', '2027-03-27T22:59:59.999Z', '2027-03-27'],
    ['Europe/Berlin', '2027-03-27T23:00:00.000Z', '2027-03-28'],
    ['Pacific/Kiritimati', '2027-01-01T10:00:00.000Z', '2027-01-02'],
    ['Pacific/Pago_Pago', '2027-01-01T10:00:00.000Z', '2026-12-31'],
    ['Asia/Kathmandu', '2027-01-01T18:15:00.000Z', '2027-01-02'],
  ])('in %s at %s it is %s', (timeZone, time, day) => {
    expect(new Date(dayIn(timeZone, at(time)) * 24 * HOUR).toISOString().slice(0, 10)).toBe(day);
  });

  test.each([
    ['UTC', '2027-03-28T08:00:00Z', '2027-03-29T00:00:00.000Z'],
    // 23 and 25 hours.
    ['Europe/Berlin', '2027-03-27T23:00:00Z', '2027-03-28T22:00:00.000Z'],
    ['Europe/Berlin', '2027-10-30T22:00:00Z', '2027-10-31T23:00:00.000Z'],
    // In Cairo the clock goes from 24:00 to 01:00 in spring: the day begins at 01:00. In autumn 23:00 comes twice.
    ['Africa/Cairo', '2026-04-23T12:00:00Z', '2026-04-23T22:00:00.000Z'],
    ['Africa/Cairo', '2026-10-29T20:30:00Z', '2026-10-29T22:00:00.000Z'],
    // Samoa left out a day.
    ['Pacific/Apia', '2011-12-30T01:00:00Z', '2011-12-30T10:00:00.000Z'],
  ])('in %s the day of %s ends at %s', (timeZone, time, end) => {
    expect(new Date(dayEndIn(timeZone, at(time))).toISOString()).toBe(end);
  });

  test.each(['UTC', 'Europe/Berlin', 'America/St_Johns', 'Africa/Cairo', 'Australia/Lord_Howe'])(
    'in %s every day of a year ends where the next one begins',
    (timeZone) => {
      let now = at('2026-01-01T00:00:00Z');
      for (let n = 0; n < 400; n++) {
        const end = dayEndIn(timeZone, now);
        expect(dayIn(timeZone, end - 1)).toBe(dayIn(timeZone, now));
        expect(dayIn(timeZone, end)).toBe(dayIn(timeZone, now) + 1);
        expect(end - now).toBeLessThanOrEqual(25 * HOUR);
        now = end;
      }
    },
  );
});
