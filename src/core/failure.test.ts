import { describe, expect, test } from 'vitest';
import { SubstratError } from './errors.ts';
import { delayBefore, type RetryRule, retryRules, troubleOf } from './failure.ts';

const told = (rule: RetryRule) => [0, 1, 2, 10, 100].map((failures) => rule.delayMs(failures) / 1000);

describe('retryRules', () => {
  test('has this delay and attempt count for every failure', () => {
    const counted = { counts: true, delays: [0.5, 2, 8, 60, 60] };
    const atOnce = { counts: false, delays: [0, 0, 0, 0, 0] };
    const table = Object.entries(retryRules).map(([kind, rule]) => [kind, { counts: rule.counts, delays: told(rule) }]);
    expect(Object.fromEntries(table)).toEqual({
      crash: counted,
      timeout: counted,
      interrupted: atOnce,
      invalid_request: counted,
      context_full: counted,
      limit: counted,
      bad_session: atOnce,
      budget: atOnce,
      daemon_died: atOnce,
      daemon_stopped: atOnce,
      lease_lost: atOnce,
      handover: atOnce,
      store: { counts: false, delays: [1, 2, 4, 60, 60] },
      resources: { counts: false, delays: [1, 2, 4, 60, 60] },
      auth: { counts: false, delays: [60, 120, 240, 3600, 3600] },
      rate_limit: { counts: false, delays: [30, 60, 120, 3600, 3600] },
      overloaded: { counts: false, delays: [5, 10, 20, 3600, 3600] },
    });
  });
});

describe('delayBefore()', () => {
  test.each([
    [undefined, 30_000],
    [Number.NaN, 30_000],
    [90_000.4, 90_000],
    [0, 1_000],
    [-5, 1_000],
    [1e300, 604_800_000],
  ])('returns the expected delay when the provider said %s', (toldMs, delay) => {
    expect(delayBefore(retryRules.rate_limit, 0, toldMs)).toBe(delay);
  });
});

describe('troubleOf()', () => {
  const failed = (code: string) => Object.assign(new Error('no'), { code });
  test.each([
    [failed('EMFILE'), 'resources'],
    [failed('ENOSPC'), 'resources'],
    [new Error('no', { cause: failed('ENFILE') }), 'resources'],
    [failed('ECONNRESET'), 'store'],
    [failed('SQLITE_IOERR'), 'store'],
    [new SubstratError('store', 'no', { cause: failed('ENOSPC') }), 'store'],
    [new SubstratError('outcome_unknown', 'no'), 'store'],
    [failed('SQLITE_CONSTRAINT_UNIQUE'), null],
    [failed('ENOENT'), null],
    [new SubstratError('bad_request', 'no'), null],
    [new Error('no'), null],
    ['no', null],
  ])('%s', (error, trouble) => {
    expect(troubleOf(error)).toBe(trouble);
  });
});
