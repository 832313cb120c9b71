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
    expect(watch.judge(cancelled)).toMatchObject({ kind: 'rate_limit', retryAfterMs: 3_600_000 });
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
    expect(watch.judge(limited)).toEqual({ ...limited, retryAfterMs: 7_000 });
    expect(watch.judge({ ...limited, retryAfterMs: 1 })).toMatchObject({ retryAfterMs: 1 });
    expect(watch.judge(cancelled)).toBe(cancelled);
  });

  test('counts tokens', () => {
    const watch = watchAnswers();
    expect(watch.usage()).toEqual([]);
    for (const inputTokens of [3, 4]) watch.saw({ ...answer(200), inputTokens, outputTokens: 1 });
    expect(watch.usage()).toEqual([{ type: 'usage', inputTokens: 7, outputTokens: 2 }]);
  });
});
