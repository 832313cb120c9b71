import { SubstratError } from './errors.ts';
import { MAX_DEPTH } from './text.ts';

/** Limits for JSON from outside. Parsing and checking larger input would block the process. */
export interface JsonLimits {
  readonly bytes: number;
  /** Object keys and array elements, counted together. */
  readonly entries: number;
  readonly depth: number;
}

export const JSON_LIMITS: JsonLimits = { bytes: 8 * 1024 * 1024, entries: 10_000, depth: MAX_DEPTH };

/**
 * Parses JSON from outside. Input beyond the limits is refused before it is parsed: with `too_large` for too many
 * bytes, with `bad_request` for the other limits. Syntax errors are thrown as `JSON.parse` throws them.
 */
export function parseBounded(source: Uint8Array | string, limits: JsonLimits = JSON_LIMITS): unknown {
  const bytes = typeof source === 'string' ? Buffer.from(source) : source;
  checkBounds(bytes, limits);
  return JSON.parse(typeof source === 'string' ? source : viewOf(bytes).toString('utf8'));
}

/** Throws if the bytes of a JSON text exceed a limit. Only counts, so input that is not JSON may pass. */
export function checkBounds(bytes: Uint8Array, limits: JsonLimits = JSON_LIMITS): void {
  const { bytes: maxBytes } = limits;
  if (bytes.length > maxBytes) {
    throw new SubstratError('too_large', `JSON may have at most ${maxBytes} bytes; this has ${bytes.length}.`);
  }
  const problem = shapeProblem(viewOf(bytes), limits);
  if (problem !== null) throw new SubstratError('bad_request', problem);
}

function shapeProblem(bytes: Buffer, { entries: maxEntries, depth: maxDepth }: JsonLimits): string | null {
  let depth = 0;
  let entries = 0;
  const end = bytes.length;
  for (let at = 0; at < end; at += 1) {
    const byte = bytes[at] as number;
    // Setting this bit maps `[` to `{` and `]` to `}`.
    const kind = byte | 0x20;
    if (byte === QUOTE) {
      at = endOfString(bytes, at + 1);
    } else if (byte === COMMA) {
      entries += 1;
      if (entries > maxEntries) return tooMany(maxEntries);
    } else if (kind === OPEN) {
      depth += 1;
      if (depth > maxDepth) return `JSON may be nested at most ${maxDepth} deep.`;
      // The number of entries is the number of commas, plus one unless the collection is empty.
      while (isWhiteSpace(bytes[at + 1])) at += 1;
      if (((bytes[at + 1] ?? 0) | 0x20) !== CLOSE) entries += 1;
      if (entries > maxEntries) return tooMany(maxEntries);
    } else if (kind === CLOSE) {
      depth -= 1;
    }
  }
  return null;
}

/**
 * The end of the string whose first character is at `at`. Short strings are scanned byte by byte. For long ones,
 * `indexOf` for the next quote is several times faster, but slower where every second byte is a quote.
 */
function endOfString(bytes: Buffer, at: number): number {
  for (let here = at; here < bytes.length; ) {
    for (const stop = here + SHORT; here < stop; here += bytes[here] === BACKSLASH ? 2 : 1) {
      if (bytes[here] === QUOTE || here >= bytes.length) return here;
    }
    const quote = bytes.indexOf(QUOTE, here);
    if (quote === -1) return bytes.length;
    let from = quote;
    while (from > here && bytes[from - 1] === BACKSLASH) from -= 1;
    if ((quote - from) % 2 === 0) return quote;
    here = quote + 1;
  }
  return bytes.length;
}

function isWhiteSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function tooMany(maxEntries: number): string {
  return `JSON may have at most ${maxEntries} keys and elements.`;
}

function viewOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN = 0x7b;
const CLOSE = 0x7d;
const SHORT = 64;
