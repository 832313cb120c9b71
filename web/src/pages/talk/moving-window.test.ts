import fc from 'fast-check';
import { expect, test } from 'vitest';
import { grow, MOST_ROWS, settle, slide } from './moving-window.ts';

test('begins at the end, or with the first unread message and some context', () => {
  expect(settle(10, 0)).toEqual({ start: 0, end: 10 });
  expect(settle(1000, 0)).toEqual({ start: 960, end: 1000 });
  expect(settle(1000, 500)).toEqual({ start: 488, end: 788 });
});

test('never draws more than 300 messages, whatever comes and however one scrolls', () => {
  const step = fc.record({
    above: fc.boolean(),
    below: fc.boolean(),
    added: fc.nat(100),
    news: fc.nat(100),
    follow: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.nat(2000), fc.nat(2000), fc.array(step, { maxLength: 50 }), (length, unread, steps) => {
      let [span, all] = [settle(length, Math.min(unread, length)), length];
      for (const { above, below, added, news, follow } of steps) {
        span = slide(span, { length: all, above, below });
        all += added + news;
        span = grow(span, { length: all, added, follow });
        expect(span.start).toBeGreaterThanOrEqual(0);
        expect(span.end).toBeLessThanOrEqual(all);
        expect(span.end - span.start).toBeLessThanOrEqual(MOST_ROWS);
        if (follow) expect(span.end).toBe(all);
      }
    }),
  );
});

test('what was drawn stays drawn when older messages come', () => {
  const before = settle(100, 0);
  expect(grow(before, { length: 150, added: 50, follow: false }).start).toBe(before.start + 50);
});

test('if what was drawn is forgotten, the end is drawn', () => {
  expect(grow({ start: 900, end: 1000 }, { length: 100, added: 0, follow: true })).toEqual({ start: 60, end: 100 });
});
