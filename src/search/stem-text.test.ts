import fc from 'fast-check';
import { expect, test } from 'vitest';
import { stemText } from './stem-text.ts';
import { stemsOf } from './stems.ts';

/** Parts of names, separators, terminators, and non-ASCII letters. */
const PIECES = [
  'a',
  'running',
  'Name',
  'X',
  '9',
  '_',
  '-',
  '.',
  ':',
  '/',
  "'",
  '’',
  '@',
  '\\',
  '+',
  '#',
  ' ',
  '\n',
  '\0',
];
const BEYOND = ['é', 'ﬁ', '東京', '🚀', '\u0301', '\u00a0', '\u2028', 'ß', 'İ', '\ud83d'];

test('returns the same as stemsOf() for any text', () => {
  const text = fc.oneof(
    fc.array(fc.constantFrom(...PIECES), { maxLength: 40 }).map((pieces) => pieces.join('')),
    fc.array(fc.constantFrom(...PIECES, ...BEYOND), { maxLength: 40 }).map((pieces) => pieces.join('')),
    fc.string({ unit: 'binary', maxLength: 200 }),
  );
  fc.assert(
    fc.property(text, (one) => {
      expect(stemText(one)).toBe(stemsOf(one).join(' '));
    }),
    { numRuns: 2000 },
  );
});

test('returns the same for repeated words, and for more words than it caches', () => {
  const text = Array.from({ length: 200_000 }, (_, i) => `running${i.toString(36)} searches`).join('\n');
  const stems = stemsOf(text).join(' ');
  expect(stemText(text)).toBe(stems);
  expect(stemText(text)).toBe(stems);
});

test('takes words of any length, and texts that become longer', () => {
  for (const text of ['a'.repeat(100_000), 'a#'.repeat(50_000), 'a-'.repeat(50_000), 'ﷺ'.repeat(20_000)]) {
    expect(stemText(text)).toBe(stemsOf(text).join(' '));
  }
});
