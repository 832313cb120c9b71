import type * as z from 'zod';
import { GrowingBuffer } from '../core/growing-buffer.ts';
import { parseBounded } from '../core/json-bounds.ts';

/** One line of output; `null` stands for a dropped line that exceeded the limit. */
export type Line = string | null;

const newline = 0x0a;
const carriageReturn = 0x0d;

/**
 * Splits bytes into lines. Lines are split as bytes and decoded whole, so a character split between chunks stays
 * intact and an invalid byte only affects itself. A line over the limit is never buffered completely.
 */
export function lineSplitter(maxLineBytes: number) {
  const decoder = new TextDecoder();
  const held = new GrowingBuffer();
  let bytes = 0;

  function add(part: Buffer): void {
    bytes += part.length;
    if (bytes > maxLineBytes) held.clear();
    else held.append(part);
  }

  function take(): Line {
    const line = bytes > maxLineBytes ? null : held.take();
    bytes = 0;
    if (line === null) return null;
    return decoder.decode(line.at(-1) === carriageReturn ? line.subarray(0, -1) : line);
  }

  return {
    *push(chunk: Buffer): Generator<Line> {
      let start = 0;
      for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
        add(chunk.subarray(start, end));
        yield take();
        start = end + 1;
      }
      add(chunk.subarray(start));
    },
    /** Returns what came after the last newline. */
    *flush(): Generator<Line> {
      if (bytes > 0) yield take();
    },
  };
}

/** Parses a line by the program's schema; null for any other output, and for JSON beyond the limits. */
export function readEvent<Schema extends z.ZodType>(schema: Schema, line: string): z.infer<Schema> | null {
  if (!line.startsWith('{')) return null;
  try {
    return schema.safeParse(parseBounded(line)).data ?? null;
  } catch {
    return null;
  }
}
