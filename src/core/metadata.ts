import { SubstratError } from './errors.ts';
import { checkLine } from './line.ts';

/** What a parent notes about its child: its words, never the daemon's. */
export type Metadata = Readonly<Record<string, string>>;

const MOST_PAIRS = 32;
export const LONGEST_KEY = 64;
export const LONGEST_VALUE = 256;

/** The pairs after one was set, or removed by null. */
export function withPair(metadata: Metadata, key: string, value: string | null): Metadata {
  checkPart('The key', key, LONGEST_KEY);
  if (key.trim() === '') throw new SubstratError('bad_request', 'The key must not be empty.');
  const pairs = new Map(Object.entries(metadata));
  if (value === null) {
    if (!pairs.delete(key)) throw new SubstratError('not_found', `There is no key "${key}".`);
  } else {
    checkPart('The value', value, LONGEST_VALUE);
    pairs.set(key, value);
  }
  if (pairs.size > MOST_PAIRS) {
    throw new SubstratError('cap_reached', `An agent has at most ${MOST_PAIRS} keys. Remove one with the value null.`);
  }
  return Object.fromEntries(pairs);
}

function checkPart(what: string, text: string, longest: number): void {
  if (text.length > longest) throw new SubstratError('bad_request', `${what} must have at most ${longest} characters.`);
  checkLine(what, text);
}
