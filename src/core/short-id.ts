import { SubstratError } from './errors.ts';

const SHORT = 6;
const FULL = 36;

/** The end of an id, which people can type. Its beginning is a time, so ids of one minute begin alike. */
export function shortId(id: string): string {
  return id.length === FULL ? id.slice(-SHORT) : id;
}

export function isFullId(text: string): boolean {
  return text.length === FULL && /^[0-9a-f-]+$/.test(text);
}

/** Whether a text can be the end of an id. Complete ids are not, so that programs never cause a search. */
export function isIdEnding(text: string): boolean {
  return text.length >= SHORT && text.length < FULL && /^[0-9a-f-]+$/i.test(text);
}

/** The one id that ends like this; null if none does. */
export function onlyIdEnding(what: string, ending: string, ids: readonly string[]): string | null {
  if (ids.length < 2) return ids[0] ?? null;
  const message = `More than one ${what} has an id that ends with ${ending}: ${ids.join(', ')}. Give more characters.`;
  throw new SubstratError('conflict', message);
}
