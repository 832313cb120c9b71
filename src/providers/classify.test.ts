import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { classify } from './classify.ts';

/** Messages captured from the real programs, by kind and program. */
const captured = JSON.parse(
  readFileSync(new URL('../../test/fixtures/model-errors.json', import.meta.url), 'utf8'),
) as Record<string, Record<string, string>>;
const cases = Object.entries(captured).flatMap(([kind, texts]) =>
  Object.entries(texts).map(([program, text]) => [program, kind, text] as const),
);
const now = Date.parse('2026-02-13T12:00:00Z');

describe('classify()', () => {
  test.each(cases)('classifies %s: %s', (_, kind, text) => {
    expect(classify(text)).toMatchObject({ kind });
  });

  test.each([
    ['auth', 'Error: Authentication required. Please log in first, or set CURSOR_API_KEY.'],
    ['auth', '[unauthenticated] Not logged in. If you are logged in, try logging out and back in.'],
    ['auth', 'Warning: The provided API key is invalid.'],
    ['auth', 'HTTP 401: mock'],
    ['bad_session', 'Error: Chat 11111111-2222-4333-8444-555555555555 not found'],
    ['bad_session', 'Error: thread/resume failed: no rollout found for thread id 1'],
    ['bad_session', 'Invalid session identifier "x".'],
    ['bad_session', 'Error resuming session: No previous sessions found for this project.'],
    ['context_full', '400 {"type":"invalid_request_error","message":"prompt is too long: 210000 tokens"}'],
    ['context_full', 'context_length_exceeded'],
    ['rate_limit', 'HTTP 429'],
    ['rate_limit', "You've hit your usage limit"],
    ['overloaded', 'API Error: 503'],
    ['overloaded', 'fetch failed'],
    ['invalid_request', 'Cannot use this model: gpt-9. No such model.'],
    ['invalid_request', "error: unknown option '--trust'"],
    ['crash', 'Segmentation fault'],
    ['crash', 'TypeError: x is not a function at line 404'],
    ['crash', 'Error: EAGAIN: resource temporarily unavailable, write'],
    ['crash', ''],
  ])('%s: %s', (kind, text) => {
    expect(classify(text)).toMatchObject({ kind });
  });

  test.each([
    ['rate limit, retry-after: 30', 30_000],
    ['429 {"retry_after_ms": 1500}', 1_500],
    ['Rate limit reached. Please try again in 6m 30s.', 390_000],
    ['Rate limit: try again in 1 hour and 5 minutes', 3_900_000],
    ['429: wait 20 seconds', 20_000],
    ['usage limit reached, resets at 2026-02-13T13:00:00Z', 3_600_000],
    ['quota, "reset_at": "2026-02-13 12:01:00"', 60_000],
    ['usage limit reached|1770984060', 60_000],
    ['usage limit reached, resets at 2020-01-01T00:00Z', 0],
    ['overloaded, try again in 250ms', 250],
  ])('finds how long to wait: %s', (text, retryAfterMs) => {
    expect(classify(text, now)).toMatchObject({ retryAfterMs });
  });

  test('accepts any text of any length', () => {
    void fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.constantFrom('', '429 ', 'reset at 9999999999'), (text, before) => {
        const { retryAfterMs = 0 } = classify(before + text, now);
        expect(retryAfterMs).toBeGreaterThanOrEqual(0);
      }),
    );
    const start = performance.now();
    for (const text of ['session ', 'try again in 1s ', '429 1m, 1', 'retry after ']) classify(text.repeat(100_000));
    expect(performance.now() - start).toBeLessThan(10_000);
  });
});

test.each([
  ["You've hit your usage limit", true],
  ['429 You exceeded your current quota, please check your plan and billing details.', true],
  ['402 Payment required', true],
  ['429 Too many requests', undefined],
  ['Rate limit reached for requests', undefined],
  ['429 RESOURCE_EXHAUSTED', undefined],
])('tells a quota that is used up from a limit that passes: %s', (text, exhausted) => {
  expect(classify(text)).toEqual({ kind: 'rate_limit', ...(exhausted && { exhausted }) });
});
