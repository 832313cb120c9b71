/** The maximum length of a message, in characters. */
export const MAX_TEXT = 1_000_000;

/**
 * Makes a program's output storable as a message: without NUL, which PostgreSQL rejects, and cut at a million
 * characters.
 */
export function cleanText(text: string): string {
  const cleaned = text.replaceAll('\0', '\ufffd');
  return cleaned.length <= MAX_TEXT ? cleaned : `${cleaned.slice(0, MAX_TEXT - 20)}\n[cut: too long]`;
}

/** A number with its noun: "1 home", "2 homes". */
export function counted(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? '' : 's'}`;
}

export function shorten(text: string, length = 80): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}

/** Keeps items until their texts exceed the limit together; the first one is always kept. */
export function takeFitting<T>(items: readonly T[], textOf: (item: T) => string, characters: number): T[] {
  let room = characters;
  return items.filter((item, i) => {
    room -= textOf(item).length;
    return i === 0 || room >= 0;
  });
}

/** Serializes equal values to equal texts: sorted keys, no whitespace. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) => {
    if (inner === null || typeof inner !== 'object' || Array.isArray(inner)) return inner;
    return Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

/** Maximum nesting depth of input: recursion overflows the stack at a few thousand levels. */
export const MAX_DEPTH = 64;

export function isTooDeep(value: unknown): boolean {
  let level = new Set([value].filter(isContainer));
  for (let depth = 1; level.size > 0; depth += 1) {
    if (depth > MAX_DEPTH) return true;
    level = new Set([...level].flatMap((one) => Object.values(one)).filter(isContainer));
  }
  return false;
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
