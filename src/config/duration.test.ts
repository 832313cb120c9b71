import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { duration } from './duration.ts';

const field = duration({ fallback: '30m', min: '1ms', max: '100d' });

describe('duration()', () => {
  test.each([
    [undefined, 1_800_000],
    ['500ms', 500],
    ['30s', 30_000],
    ['30m', 1_800_000],
    ['24h', 86_400_000],
    ['7d', 604_800_000],
  ])('reads %j as %i ms', (text, ms) => {
    expect(field.parse(text)).toBe(ms);
  });

  test.each([30, '30', '', 's', '1.5h', '-1s', '1 s', '1S', '1h30m', ' 1s', true])(
    'asks for a unit instead of %j',
    (value) => {
      expect(field.safeParse(value).error?.issues[0]?.message).toBe(
        'must be a duration such as "30m" (units: ms, s, m, h, d)',
      );
    },
  );

  test.each(['0s', '101d', '99999999999999999999d'])('refuses %s, which is out of bounds', (text) => {
    expect(field.safeParse(text).error?.issues[0]?.message).toBe('must be a duration from 1ms to 100d');
  });

  test('is exact within the bounds', () => {
    const units = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100 }), fc.constantFrom(...Object.entries(units)), (count, [unit, ms]) => {
        expect(field.parse(`${count}${unit}`)).toBe(count * ms);
      }),
    );
  });
});
