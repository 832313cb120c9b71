import * as z from 'zod';
import { maybe } from './fields.ts';

const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const form = 'must be a duration such as "30m" (units: ms, s, m, h, d)';

/** A duration written as a string with a unit, parsed to milliseconds. */
export function duration({ fallback, min, max }: { fallback: string; min: string; max: string }) {
  return ranged({ min, max }).prefault(fallback);
}

/** The same for an optional key, null if omitted. */
export function maybeDuration(range: { min: string; max: string }) {
  return maybe(ranged(range));
}

function ranged({ min, max }: { min: string; max: string }) {
  return z.string(form).transform((text, context) => {
    const ms = parseDuration(text);
    if (ms !== null && ms >= (parseDuration(min) ?? 0) && ms <= (parseDuration(max) ?? 0)) return ms;
    context.addIssue(ms === null ? form : `must be a duration from ${min} to ${max}`);
    return z.NEVER;
  });
}

/** Returns milliseconds, or null if the text is not a duration. */
function parseDuration(text: string): number | null {
  const [, count, unit = ''] = /^(\d+)(ms|s|m|h|d)$/.exec(text) ?? [];
  const size = units[unit];
  return count === undefined || size === undefined ? null : Number(count) * size;
}
