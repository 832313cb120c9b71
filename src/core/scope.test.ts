import { expect, test } from 'vitest';
import { isInScope, narrow, sameScope } from './scope.ts';

test('null allows every tool, a list only the tools it names', () => {
  expect([isInScope(null, 'a'), isInScope(['a'], 'a'), isInScope(['a'], 'b'), isInScope([], 'a')]).toEqual([
    true,
    true,
    false,
    false,
  ]);
});

test('two scopes narrow to their intersection', () => {
  expect(narrow(null, null)).toBeNull();
  expect(narrow(null, ['a'])).toEqual(['a']);
  expect(narrow(['a'], null)).toEqual(['a']);
  expect(narrow(['a', 'b'], ['c', 'b'])).toEqual(['b']);
  expect(narrow(['a'], ['b'])).toEqual([]);
});

test('scopes with the same tools are equal in any order', () => {
  expect(sameScope(null, null)).toBe(true);
  expect(sameScope(null, [])).toBe(false);
  expect(sameScope(['a', 'b'], ['b', 'a'])).toBe(true);
  expect(sameScope(['a'], ['a', 'b'])).toBe(false);
  expect(sameScope(['a', 'b'], ['a', 'c'])).toBe(false);
});
