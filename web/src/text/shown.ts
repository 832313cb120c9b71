import { replaceHidden } from '../../../src/core/hidden.ts';

/** A text of anybody, outside of Markdown: characters without a shape are written as JSON escapes them. */
export function shown(text: string): string {
  return replaceHidden(text, (hidden) => (/[\n\t]/.test(hidden) ? hidden : escaped(hidden)));
}

/** A value as JSON that reads as it is. */
export function shownJson(value: unknown): string {
  return shown(JSON.stringify(value, null, 2));
}

function escaped(character: string): string {
  return character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
}
