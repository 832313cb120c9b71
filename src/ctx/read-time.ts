import { UsageError } from '../command-line/context.ts';

/** A date, a time or an age: `2026-01-31`, `2026-01-31T12:00:00Z`, `7d`. */
export function readTime(option: string, text: string | undefined): number | null {
  if (text === undefined) return null;
  const [, count, unit = ''] = /^(\d+)([mhdw])$/.exec(text) ?? [];
  const size = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }[unit];
  const time = count !== undefined && size !== undefined ? Date.now() - Number(count) * size : Date.parse(text);
  if (!Number.isNaN(time)) return time;
  throw new UsageError(`${option} takes a date such as 2026-01-31, a time, or how long ago such as 7d; got "${text}".`);
}
