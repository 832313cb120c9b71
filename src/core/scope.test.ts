import { expect, test } from 'vitest';
import { isInScope, narrow } from './scope.ts';

test('null is every tool, and a list is what it names', () => {
  expect([isInScope(null, 'a'), isInScope('["a"]', 'a'), isInScope('["a"]', 'b'), isInScope('[]', 'a')]).toEqual([
    true,
    true,
    false,
    false,
  ]);
});

test('two scopes narrow to what both have', () => {
  expect(narrow(null, null)).toBeNull();
  expect(narrow(null, '["a"]')).toBe('["a"]');
  expect(narrow('["a"]', null)).toBe('["a"]');
  expect(narrow('["a","b"]', '["c","b"]')).toBe('["b"]');
  expect(narrow('["a"]', '["b"]')).toBe('[]');
});
