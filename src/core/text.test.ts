import { expect, test } from 'vitest';
import { takeFitting } from './text.ts';

test('takeFitting() drops items beyond the total length, but always keeps the first', () => {
  const take = (...texts: string[]) => takeFitting(texts, (text) => text, 5);
  expect(take('abc', 'de', 'f')).toEqual(['abc', 'de']);
  expect(take('too long', 'a')).toEqual(['too long']);
  expect(take()).toEqual([]);
});
