import { expect, test } from 'vitest';
import { createRedaction } from './redact.ts';

const redact = createRedaction(['known "value"\nsecond line'], { MY_API_KEY: 'from-the-shell', PLAIN: 'harmless' });

test.each([
  ['known "value"\nsecond line', /known|second line/],
  [JSON.stringify({ a: 'known "value"\nsecond line' }), /known|second line/],
  ['… second line …', /second line/],
  ['x from-the-shell y', /from-the-shell/],
  ['postgres://anna:pa55@db/x', /anna|pa55/],
  ['Authorization: Bearer abcdef123456', /abcdef123456/],
  ['key sk-ant-api03-abcdefghijkl', /abcdefghijkl/],
  ['ghp_abcdefghijklmnop', /abcdefghijklmnop/],
  ['eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl', /eyJ/],
  ['{"api_key":"q w","x":1}', /q w/],
  ['password = hunter22', /hunter22/],
  ['-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----', /MIIE/],
])('hides what is secret in %j', (text, secret) => {
  expect(redact(text)).not.toMatch(secret);
});

test('keeps what is not', () => {
  const text = 'harmless: 12 tokens in run 3f9a1c at https://example.com/x (12 ms)';
  expect(redact(text)).toBe(text);
});
