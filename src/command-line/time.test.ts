import { expect, test } from 'vitest';
import { ago, localTime, span } from './time.ts';

const now = new Date(2026, 10, 17, 17, 30).getTime();
const before = (ms: number) => new Date(now - ms).toISOString();

test('times are relative for a week, then dates', () => {
  expect(ago(before(0), now)).toBe('just now');
  expect(ago(before(-3000), now)).toBe('just now');
  expect(ago(before(59_000), now)).toBe('59 s ago');
  expect(ago(before(4 * 60_000 + 5), now)).toBe('4 min ago');
  expect(ago(before(47 * 3_600_000), now)).toBe('47 h ago');
  expect(ago(before(3 * 86_400_000), now)).toBe('3 days ago');
  expect(ago(before(30 * 86_400_000), now)).toBe('18 Oct 17:30');
});

test('clock times are local and name the day when it is not today', () => {
  expect(localTime(before(60_000), now)).toBe('17:29');
  expect(localTime(before(86_400_000), now)).toBe('16 Nov 17:30');
  expect(localTime(before(400 * 86_400_000), now)).toMatch(/^13 Oct 2025 17:30$/);
});

test('a duration is never negative', () => {
  expect(span(-5)).toBe('0 s');
  expect(span(-5, 1)).toBe('0.0 s');
  expect(span(1234, 1)).toBe('1.2 s');
});
