const UNITS = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000, ms: 1 } as const;
const LENGTH = String.raw`(\d+(?:\.\d+)?)\s*(ms|milliseconds?|d(?:ays?)?|h(?:ours?|rs?)?|m(?:in(?:ute)?s?)?|s(?:ec(?:ond)?s?)?)\b`;
const WAIT = new RegExp(
  String.raw`(?:try again|retry|resets?|available|wait)\w*\s+(?:(?:in|after|for)\s+)?((?:${LENGTH}[\s,]*(?:and\s+)?)+)`,
  'i',
);
const HEADER = /retry.?after(?:.?(ms|seconds))?["']?\s*[:=]?\s*["']?(\d+(?:\.\d+)?)\s*(ms)?/i;
const MOMENT =
  /(?:resets?|reset_?at|available|try again|until)["']?\s*(?:at|on|after)?\s*[:=]?\s*["']?(\d{4}-\d\d-\d\d[T ]\d\d:\d\d[\d:.]*(?:Z|[+-]\d\d:?\d\d)?)/i;
const EPOCH = /(?:\||resets?(?:_?at)?["']?\s*[:=]?\s*)(\d{10})(\d{3})?\b/i;

/** How many milliseconds a text says to wait, or until when; null if it does not say. */
export function waitIn(text: string, now: number): number | null {
  const header = HEADER.exec(text);
  if (header) return Number(header[2]) * ((header[3] ?? header[1])?.toLowerCase() === 'ms' ? 1 : 1_000);
  const wait = WAIT.exec(text)?.[1];
  if (wait) return lengthOf(wait);
  const moment = MOMENT.exec(text)?.[1];
  if (moment) return untilMoment(Date.parse(/(Z|[+-]\d\d:?\d\d)$/.test(moment) ? moment : `${moment}Z`), now);
  const epoch = EPOCH.exec(text);
  return epoch ? untilMoment(Number(epoch[1]) * 1_000, now) : null;
}

function lengthOf(text: string): number {
  const parts = [...text.matchAll(new RegExp(LENGTH, 'gi'))];
  return parts.reduce((sum, [, amount, unit = '']) => sum + Number(amount) * unitOf(unit.toLowerCase()), 0);
}

function unitOf(unit: string): number {
  if (unit === 'ms' || unit.startsWith('milli')) return UNITS.ms;
  return UNITS[unit.charAt(0) as keyof typeof UNITS];
}

function untilMoment(moment: number, now: number): number | null {
  return Number.isNaN(moment) ? null : Math.max(0, moment - now);
}
