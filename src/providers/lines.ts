import type * as z from 'zod';
import { GrowingBuffer } from '../core/growing-buffer.ts';
import { parseBounded } from '../core/json-bounds.ts';

/** One line of output; `null` stands for a line that was longer than the cap and was dropped. */
export type Line = string | null;

const newline = 0x0a;
const carriageReturn = 0x0d;

/**
 * Splits bytes into lines. Lines are cut as bytes and decoded whole, so a character split between two chunks is
 * never broken and a byte that is not UTF-8 spoils nothing but itself. A line over the cap is never held whole.
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
    /** What came after the last newline. */
    *flush(): Generator<Line> {
      if (bytes > 0) yield take();
    },
  };
}

/** What a line says, by the program's own schema; null for whatever else programs print, and for JSON beyond its limits. */
export function readEvent<Schema extends z.ZodType>(schema: Schema, line: string): z.infer<Schema> | null {
  if (!line.startsWith('{')) return null;
  try {
    return schema.safeParse(parseBounded(line)).data ?? null;
  } catch {
    return null;
  }
}
