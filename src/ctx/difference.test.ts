import fc from 'fast-check';
import { expect, test } from 'vitest';
import { differenceOf } from './difference.ts';

test('shows removed and added lines only', () => {
  expect(differenceOf('a\nb\nc\n', 'a\nx\nc\nd\n')).toEqual(['- b', '+ x', '+ d']);
  expect(differenceOf('same\n', 'same\n')).toEqual([]);
  expect(differenceOf('', 'new\n')).toEqual(['+ new']);
  expect(differenceOf('old\n', '')).toEqual(['- old']);
});

test('transforms the old text into the new one', () => {
  const text = fc.array(fc.constantFrom('a', 'b', 'c', ''), { maxLength: 12 });
  fc.assert(
    fc.property(text, text, (before, after) => {
      const lines = differenceOf(before.map((line) => `${line}\n`).join(''), after.map((line) => `${line}\n`).join(''));
      const counted = (list: readonly string[]) => list.toSorted();
      const gone = lines.filter((line) => line.startsWith('- ')).map((line) => line.slice(2));
      const come = lines.filter((line) => line.startsWith('+ ')).map((line) => line.slice(2));
      expect(counted([...before, ...come])).toEqual(counted([...after, ...gone]));
    }),
  );
});

test('is fast for texts that have nothing in common', () => {
  const many = (mark: string) => Array.from({ length: 20_000 }, (_, i) => `${mark}${i}\n`).join('');
  expect(differenceOf(many('a'), many('b'))).toHaveLength(40_000);
});
