import { SubstratError } from '../core/errors.ts';
import { parseBounded } from '../core/json-bounds.ts';

/** The end of a page as a cursor. Opaque to clients. */
export function writeCursor(...parts: readonly (string | number)[]): string {
  return Buffer.from(JSON.stringify(parts)).toString('base64url');
}

/** Parses a cursor into parts of the given types. */
export function readCursor<const T extends readonly ('string' | 'number')[]>(
  cursor: string,
  types: T,
): { [K in keyof T]: T[K] extends 'number' ? number : string } {
  let parts: unknown;
  try {
    parts = parseBounded(Buffer.from(cursor, 'base64url'));
  } catch {
    parts = null;
  }
  const fits =
    Array.isArray(parts) &&
    parts.length === types.length &&
    parts.every((part: unknown, i) => typeof part === types[i] && part !== null && !String(part).includes('\0')) &&
    parts.every((part: unknown) => typeof part !== 'number' || Number.isSafeInteger(part));
  if (!fits) throw new SubstratError('bad_request', 'The cursor is not valid; start without a cursor.');
  return parts as never;
}
