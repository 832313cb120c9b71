import { describe, expect, test } from 'vitest';
import { usageOfSteps } from './usage.ts';

const tokens = (inputTokens: number) => ({ inputTokens, outputTokens: 0, costUsd: 0 });

describe('usageOfSteps()', () => {
  test('a step used what the sums grew by; what is counted last belongs to the last step', () => {
    const used = usageOfSteps([tokens(10), null, tokens(15)], tokens(20));
    expect(used.map((one) => one?.inputTokens)).toEqual([10, 0, 10]);
  });

  test('nobody knows if everything was counted at the end', () => {
    expect(usageOfSteps([null, null], tokens(20))).toEqual([null, null]);
  });
});
