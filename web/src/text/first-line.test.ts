import { expect, test } from 'vitest';
import { firstLine } from './first-line.ts';

test('a title is the first line without marks of Markdown, cut to its length', () => {
  expect(firstLine('\n## May I push **refund-webhook** to `main`?\nDetails')).toBe(
    'May I push refund-webhook to main?',
  );
  expect(firstLine('2 * 3 > 5, snake_case # no heading')).toBe('2 * 3 > 5, snake_case # no heading');
  expect(firstLine('x'.repeat(300), 10)).toBe(`${'x'.repeat(9)}…`);
});
