import { expect, test } from 'vitest';
import { describePricing } from './describe-pricing.ts';

const none = { every: null, models: {}, assumed: null, source: null, asOf: null };
const [cheap, dear] = [
  { input: 1, output: 2.5 },
  { input: 3, output: 15 },
];

test.each([
  [{ ...none, kind: 'unknown' }, 'unknown'],
  [{ ...none, kind: 'reported' }, 'reported'],
  [{ ...none, kind: 'assumed', assumed: cheap }, '$1/$2.5 assumed'],
  [{ ...none, kind: 'configured', every: dear }, '$3/$15, undated'],
  [
    { ...none, kind: 'configured', every: dear, models: { a: cheap }, asOf: '2026-11-01', source: 'price list' },
    '$3/$15, 1 model, of 2026-11-01, price list',
  ],
  [{ ...none, kind: 'configured', models: { a: cheap, b: dear }, assumed: dear }, '2 models, undated, $3/$15 assumed'],
] as const)('%j is described', (pricing, text) => {
  expect(describePricing(pricing)).toBe(text);
});
