import { toLine } from '../core/line.ts';
import { cleanText, isTooDeep, shorten } from '../core/text.ts';

/** The name of our MCP server, under which programs know our tools. */
export const SERVER = 'substrat';

const MAX_NAME = 200;
/** Maximum characters of JSON recorded for the arguments and for the result of one call. */
const MAX_KEPT = 100_000;

/** Programs report anything as an id. */
export function callId(text: string): string {
  return cleanText(text.slice(0, MAX_NAME));
}

export function toolName(text: string): string {
  return shorten(toLine(text.slice(0, MAX_NAME)), MAX_NAME) || 'unknown';
}

/** Arguments or a result as recorded: a long value is truncated to a text. */
export function keptValue(value: unknown): unknown {
  if (value === undefined) return null;
  if (isTooDeep(value)) return '[nested too deeply]';
  const text = JSON.stringify(value);
  return text.length <= MAX_KEPT ? value : `${text.slice(0, MAX_KEPT)}\n[cut: too long]`;
}
