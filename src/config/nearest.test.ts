import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { nearest } from './nearest.ts';

const known = ['slots', 'turn_timeout', 'url', 'path', 'default_provider'];

describe('nearest()', () => {
  test.each([
    ['slot', 'slots'],
    ['solts', 'slots'],
    ['turn-timeout', 'turn_timeout'],
    ['turnTimeout', 'turn_timeout'],
    ['ulr', 'url'],
    ['URL', 'url'],
    ['default_provder', 'default_provider'],
    ['bind', null],
    ['timeout', null],
    ['', null],
  ])('matches %j to %j', (word, expected) => {
    expect(nearest(word, known)).toBe(expected);
  });

  test('finds a known word with one letter changed', () => {
    fc.assert(
      fc.property(fc.constantFrom(...known), fc.nat(), fc.constantFrom('', 'z', 'zz'), (word, at, letters) => {
        const index = at % word.length;
        expect(nearest(word.slice(0, index) + letters + word.slice(index + 1), [word])).toBe(
          letters === 'zz' && word.length < 6 ? null : word,
        );
      }),
    );
  });
});
