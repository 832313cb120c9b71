import { describe, expect, test } from 'vitest';
import { watchAnswers } from './answers.ts';

const answer = (status: number, retryAfterMs: number | null = null) => {
  return { status, retryAfterMs, model: null, inputTokens: 0, outputTokens: 0 };
};
const cancelled = { type: 'error', kind: 'cancelled', message: 'The turn was cancelled.' } as const;

describe('watchAnswers()', () => {
  test('ends a program that would wait long', () => {
    const watch = watchAnswers();
    watch.saw(answer(429, 5_000));
    expect(watch.signal.aborted).toBe(false);
    watch.saw(answer(429, 3_600_000));
    expect(watch.signal.aborted).toBe(true);
    expect(watch.judge(cancelled)).toMatchObject({ kind: 'rate_limit', retryAfterMs: 3_600_000, metered: true });
  });

  test('ends a program that is refused again and again, but not one that gets through', () => {
    const watch = watchAnswers();
    for (const status of [429, 429, 429, 200, 429, 429, 429]) watch.saw(answer(status));
    expect(watch.signal.aborted).toBe(false);
    watch.saw(answer(429));
    expect(watch.signal.aborted).toBe(true);
  });

  test('knows how long to wait when the program does not say', () => {
    const watch = watchAnswers();
    watch.saw(answer(429, 7_000));
    const limited = { type: 'error', kind: 'rate_limit', message: 'limit' } as const;
    expect(watch.judge(limited)).toEqual({ ...limited, retryAfterMs: 7_000, metered: true });
    expect(watch.judge({ ...limited, retryAfterMs: 1 })).toMatchObject({ retryAfterMs: 1 });
    // The service did not say that.
    const longer = { ...limited, retryAfterMs: 3_600_000 };
    expect(watch.judge(longer)).toEqual(longer);
    expect(watch.judge(cancelled)).toBe(cancelled);
  });
});
