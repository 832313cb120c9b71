import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkBounds, JSON_LIMITS, type JsonLimits, parseBounded } from './json-bounds.ts';

const ANY: JsonLimits = { bytes: 1e9, entries: 1e9, depth: 1e9 };

describe('checkBounds()', () => {
  test('counts what a parser finds, with any whitespace', () => {
    fc.assert(
      fc.property(
        fc.jsonValue({ depthSize: 'large', noUnicodeString: false }),
        fc.constantFrom('', ' ', '\t', '\n  '),
        (value, space) => {
          const text = JSON.stringify(value, null, space);
          const bytes = Buffer.from(text);
          const { entries, depth } = count(value);
          checkBounds(bytes, { bytes: bytes.length, entries, depth });
          expect(() => checkBounds(bytes, { ...ANY, bytes: bytes.length - 1 })).toThrow(/bytes/);
          if (entries > 0) expect(() => checkBounds(bytes, { ...ANY, entries: entries - 1 })).toThrow(/keys/);
          if (depth > 0) expect(() => checkBounds(bytes, { ...ANY, depth: depth - 1 })).toThrow(/nested/);
        },
      ),
      { numRuns: 500 },
    );
  });

  test('finds the end of a long string with any escapes', () => {
    const piece = fc.constantFrom('x'.repeat(70), '\\\\', '\\"', '[', ',', '\\\\'.repeat(40), '\\"'.repeat(40));
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
        const bytes = Buffer.from(`["${pieces.join('')}",{"a":["b"]}]`);
        JSON.parse(bytes.toString());
        checkBounds(bytes, { ...ANY, entries: 4, depth: 3 });
        expect(() => checkBounds(bytes, { ...ANY, entries: 3 })).toThrow(/keys/);
        expect(() => checkBounds(bytes, { ...ANY, depth: 2 })).toThrow(/nested/);
      }),
      { numRuns: 1_000 },
    );
  });

  test('terminates on any bytes', () => {
    const byte = fc.constantFrom(...Buffer.from('[]{}",:\\ 1a'), 0xff, 0);
    fc.assert(
      fc.property(fc.array(byte, { maxLength: 40 }), (bytes) => {
        expect(checkBounds(Uint8Array.from(bytes))).toBeUndefined();
      }),
      { numRuns: 500 },
    );
  });

  test.each([
    ['a bracket in a string', '["[[[[{{{{,,,,"]', { entries: 1, depth: 1 }],
    ['an escaped quote', '["a\\",[,","b"]', { entries: 2, depth: 1 }],
    ['an escaped backslash at the end', '["a\\\\",[]]', { entries: 2, depth: 2 }],
    ['a key that is there twice', '{"a":1,"a":1}', { entries: 2, depth: 1 }],
    ['empty ones', '[ {\n} , [\t] ]', { entries: 2, depth: 2 }],
  ])('counts %s', (_, text, { entries, depth }) => {
    const bytes = Buffer.from(text);
    checkBounds(bytes, { ...ANY, entries, depth });
    expect(() => checkBounds(bytes, { ...ANY, entries: entries - 1 })).toThrow(/keys/);
    expect(() => checkBounds(bytes, { ...ANY, depth: depth - 1 })).toThrow(/nested/);
  });
});

describe('parseBounded()', () => {
  const numbers = (n: number) => Buffer.from(JSON.stringify(Array(n).fill(1)));
  const nested = (n: number) => Buffer.from('['.repeat(n) + ']'.repeat(n));

  test('parses JSON within the limits', () => {
    const text = JSON.stringify('x'.repeat(JSON_LIMITS.bytes - 2));
    expect(parseBounded(Buffer.from(text))).toHaveLength(JSON_LIMITS.bytes - 2);
    expect(parseBounded(numbers(10_000))).toHaveLength(10_000);
    expect(parseBounded(nested(64))).toEqual(JSON.parse(nested(64).toString()));
    expect(parseBounded('{"é":"\\u0000"}')).toEqual({ é: '\0' });
  });

  test.each([
    ['too many bytes', 'too_large', Buffer.from(`"${'x'.repeat(JSON_LIMITS.bytes)}"`), /at most 8388608 bytes/],
    ['too many elements', 'bad_request', numbers(10_001), /at most 10000 keys and elements/],
    ['too deep', 'bad_request', nested(65), /nested at most 64 deep/],
    // Not JSON either: the limits are checked before parsing.
    ['too deep and broken', 'bad_request', Buffer.from('['.repeat(100_000)), /nested at most 64 deep/],
  ])('refuses JSON that is %s', (_, code, bytes, message) => {
    expect(() => parseBounded(bytes)).toThrow(
      expect.objectContaining({ code, message: expect.stringMatching(message) }),
    );
  });

  test('throws the same syntax error as JSON.parse', () => {
    expect(() => parseBounded(Buffer.from('{'))).toThrow(SyntaxError);
  });
});

/** The same counts, from the parsed value. */
function count(value: unknown): { entries: number; depth: number } {
  if (typeof value !== 'object' || value === null) return { entries: 0, depth: 0 };
  const inner = Object.values(value).map(count);
  return {
    entries: inner.length + inner.reduce((sum, one) => sum + one.entries, 0),
    depth: 1 + Math.max(0, ...inner.map((one) => one.depth)),
  };
}
