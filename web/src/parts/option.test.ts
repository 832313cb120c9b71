import { expect, test } from 'vitest';
import { beginningOf } from './option.ts';

test('an option with a placeholder at its end is begun, not sent', () => {
  expect(beginningOf('model NAME')).toBe('model ');
  expect(['raise', 'stop', 'Yes, push', 'use TLS now', 'OK'].map(beginningOf)).toEqual([null, null, null, null, null]);
});
