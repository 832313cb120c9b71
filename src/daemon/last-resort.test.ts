import { describe, expect, test } from 'vitest';
import { createLastResort } from './last-resort.ts';

const withCode = (code: string) => Object.assign(new Error('x'), { code });

describe('createLastResort()', () => {
  test.each([
    'ECONNRESET',
    'EPIPE',
    'EMFILE',
    'ERR_STREAM_DESTROYED',
    'ERR_HTTP_INVALID_STATUS_CODE',
    'HPE_INVALID_URL',
  ])('goes on after %s', (code) => {
    expect(createLastResort()(withCode(code))).toBe('go on');
  });

  test.each([
    ['an error of ours', new TypeError('x is not a function')],
    ['a store that fails', withCode('SQLITE_CORRUPT')],
    ['a full disk', withCode('ENOSPC')],
    ['what is not an error', 'ECONNRESET'],
    ['nothing', undefined],
  ])('ends after %s', (_, error) => {
    expect(createLastResort()(error)).toBe('end');
  });

  test('ends when they come too often, and forgets them after a minute', () => {
    let now = 0;
    const decide = createLastResort(() => now);
    for (let n = 0; n < 20; n += 1) expect(decide(withCode('EPIPE'))).toBe('go on');
    expect(decide(withCode('EPIPE'))).toBe('end');
    now = 60_000;
    expect(decide(withCode('EPIPE'))).toBe('go on');
  });
});
