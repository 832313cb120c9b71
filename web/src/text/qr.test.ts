import { hash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { encodeQr } from './qr.ts';

/** The hashes are of codes that zbar decoded to the same text. */
describe('encodeQr()', () => {
  test.each([
    ['https://team.example.com/substrat/#pair=AbCdEfGhIjKlMnOpQrStUv', 33, 'd8dca447b933d5b7'],
    [`https://a.example/${'y'.repeat(140)}`, 49, '2cc8658597051a5b'],
  ])('%s', (text, size, digest) => {
    const modules = encodeQr(text) ?? [];
    expect(modules).toHaveLength(size);
    const rows = modules.map((row) => row.map((dark) => (dark ? '1' : '0')).join('')).join('\n');
    expect(hash('sha256', rows).slice(0, 16)).toBe(digest);
  });

  test('returns null for a text that is too long', () => {
    expect(encodeQr('x'.repeat(230))).not.toBeNull();
    expect(encodeQr('x'.repeat(231))).toBeNull();
  });
});
