import { expect, test } from 'vitest';
import { shown, shownJson } from './shown.ts';

test('arguments of a call are shown as they are, and can be read back', () => {
  const call = {
    command: 'rm -rf /tmp \u202e\u2066# safe\u2069',
    'k\u200bey': '\u{e0041}\u2028x\ud800',
    ok: '👩‍💻 ü\n\t',
  };
  const text = shownJson(call);
  expect(text).toContain('rm -rf /tmp \\u202e\\u2066# safe\\u2069');
  expect(text).toContain('"k\\u200bey": "\\udb40\\udc41\\u2028x\\ud800"');
  expect(text).toContain('👩‍💻 ü\\n\\t');
  expect(JSON.parse(text)).toEqual(call);
});

test('a text keeps its lines and tabs', () => {
  expect(shown('a\n\tb\r\u0085c')).toBe('a\n\tb\\u000d\\u0085c');
});
