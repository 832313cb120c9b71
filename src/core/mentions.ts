import { keyOf } from './agent.ts';

/** `@handle`, but not inside a word or an address. */
const MENTION = /(?<![\p{L}\p{N}_@.+-])@([A-Za-z0-9][A-Za-z0-9_.-]*)/gu;

/** The handles that a text mentions. Punctuation at the end of a sentence is not part of the handle. */
export function mentioned(text: string, handles: readonly string[]): string[] {
  const keys = new Set<string>();
  for (const [, name = ''] of text.matchAll(MENTION)) {
    for (let end = name.length; end > 0; end -= 1) {
      keys.add(keyOf(name.slice(0, end)));
      if (!/[._-]/.test(name[end - 1] ?? '')) break;
    }
  }
  return handles.filter((handle) => keys.has(keyOf(handle)));
}
