import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { harmless, paint, table } from './terminal.ts';

beforeEach(() => {
  vi.stubEnv('NO_COLOR', undefined);
  vi.stubEnv('NODE_DISABLE_COLORS', undefined);
  vi.stubEnv('FORCE_COLOR', '1');
  return () => vi.unstubAllEnvs();
});

const RED = '\x1b[31mSandbox: none.\x1b[39m';
const ESCAPED = '\\u001b[31mSandbox: none.\\u001b[39m';

test('a text without colours needs none of the cryptography of Node, which would be a tenth of a short command', () => {
  const program = `const { harmless, paint } = await import('./terminal.ts');
    const isLoaded = () => process.moduleLoadList.includes('NativeModule crypto');
    console.log(harmless(paint('red', 'x')), String(isLoaded()));
    process.env.FORCE_COLOR = '1';
    console.log(JSON.stringify(harmless(paint('red', 'x'))), String(isLoaded()));`;
  const env = { PATH: process.env.PATH };
  const options = { cwd: import.meta.dirname, env, encoding: 'utf8' } as const;
  const output = execFileSync(process.execPath, ['--input-type=module', '-e', program], options);
  expect(output).toBe('x false\n"\\u001b[31mx\\u001b[39m" true\n');
});

describe('harmless()', () => {
  test.each([
    ['a colour that we use', RED, ESCAPED],
    ['a right-to-left override', 'a\u202eb', 'a\\u202eb'],
    ['an isolate', '\u2066x\u2069', '\\u2066x\\u2069'],
    ['a zero-width space', 'a\u200bb', 'a\\u200bb'],
    ['a tag', '\u{e0041}', '\\udb40\\udc41'],
    ['a line separator', 'a\u2028b', 'a\\u2028b'],
    ['NEL', 'a\u0085b', 'a\\u0085b'],
    ['a lone surrogate', '\ud800', '\\ud800'],
    ['a carriage return', 'a\rb', 'a\\u000db'],
  ])('shows %s escaped', (_, text, shown) => {
    expect(harmless(text)).toBe(shown);
    expect(JSON.parse(harmless(JSON.stringify(text)))).toBe(text);
  });

  test('leaves lines, tabs and emoji unchanged', () => {
    for (const text of ['a\nb\tc\r\nd', '👩‍👩‍👧‍👦 ❤️‍🔥 1️⃣']) expect(harmless(text)).toBe(text);
  });

  test('only passes our own colours, and never one inside painted text', () => {
    expect(harmless(paint('red', 'Sandbox: none.'))).toBe(RED);
    expect(harmless(`${paint('bold', RED)} ${RED}`)).toBe(`\x1b[1m${ESCAPED}\x1b[22m ${ESCAPED}`);
    expect(table(['NAME'], [[RED]]).map(harmless)).toEqual([`\x1b[1mNAME\x1b[22m`, ESCAPED]);
  });

  test('never prints a foreign escape sequence, for any text', () => {
    const hostile = fc.array(
      fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('\x1b[', '\x1b', '31m', ':1m', RED)),
    );
    fc.assert(
      fc.property(hostile, (parts) => {
        expect(harmless(parts.join(''))).not.toContain('\x1b');
        expect(harmless(paint('dim', parts.join(''))).split('\x1b')).toHaveLength(3);
      }),
    );
  });

  test('paints nothing if colours are off', () => {
    vi.stubEnv('FORCE_COLOR', '0');
    expect(paint('red', 'x')).toBe('x');
  });
});
