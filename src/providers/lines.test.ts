import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { lineSplitter, readEvent } from './lines.ts';

function split(bytes: Uint8Array, cuts: readonly number[], maxLineBytes = 1_000) {
  const lines = lineSplitter(maxLineBytes);
  const edges = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  const chunks = edges.slice(1).map((edge, i) => Buffer.from(bytes.subarray(edges[i], edge)));
  return [...chunks.flatMap((chunk) => [...lines.push(chunk)]), ...lines.flush()];
}

describe('lineSplitter()', () => {
  test('yields the same lines wherever the chunks are cut', () => {
    const text = fc.array(fc.string({ unit: 'grapheme' }).map((line) => line.replace(/[\r\n\ufeff]/g, '')));
    void fc.assert(
      fc.property(text, fc.constantFrom('\n', '\r\n'), fc.array(fc.nat()), (lines, newline, cuts) => {
        const bytes = Buffer.from(lines.map((line) => line + newline).join(''));
        expect(split(bytes, cuts)).toEqual(lines.map((line) => Buffer.from(line).toString()));
      }),
    );
  });

  test('accepts any bytes, and drops exactly the lines over the limit', () => {
    void fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.array(fc.nat()), fc.nat(20), (bytes, cuts, cap) => {
        const lengths = Buffer.from(bytes)
          .toString('latin1')
          .split('\n')
          .map((line) => line.length);
        if (lengths.at(-1) === 0) lengths.pop();
        expect(split(bytes, cuts, cap).map((line) => line === null)).toEqual(lengths.map((length) => length > cap));
      }),
    );
  });
});

describe('readEvent()', () => {
  const schema = z.looseObject({ type: z.string() });

  test('only accepts lines that match the schema', () => {
    expect(readEvent(schema, '{"type":"x","y":[1]}')).toEqual({ type: 'x', y: [1] });
    for (const line of ['', 'x', '[]', '{', '{"type":1}']) expect(readEvent(schema, line)).toBeNull();
  });

  test('does not parse JSON beyond the limits', () => {
    const event = (rest: string) => `{"type":"x","y":${rest}}`;
    expect(readEvent(schema, event(`[${'1,'.repeat(9_900)}1]`))).not.toBeNull();
    expect(readEvent(schema, event(`[${'1,'.repeat(10_000)}1]`))).toBeNull();
    expect(readEvent(schema, event('['.repeat(63) + ']'.repeat(63)))).not.toBeNull();
    expect(readEvent(schema, event('['.repeat(64) + ']'.repeat(64)))).toBeNull();
  });
});
