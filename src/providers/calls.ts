import { toLine } from '../core/line.ts';
import { cleanText, isTooDeep, shorten } from '../core/text.ts';

/** The name of our MCP server, by which programs name our tools. */
export const SERVER = 'substrat';

const MAX_NAME = 200;
/** What is kept of the arguments and of the result of one call, in characters of JSON. */
const MAX_KEPT = 100_000;

/** Programs report anything as an id. */
export function callId(text: string): string {
  return cleanText(text.slice(0, MAX_NAME));
}

export function toolName(text: string): string {
  return shorten(toLine(text.slice(0, MAX_NAME)), MAX_NAME) || 'unknown';
}

/** Arguments or a result as they are recorded: a long value is kept as the beginning of its text. */
export function keptValue(value: unknown): unknown {
  if (value === undefined) return null;
  if (isTooDeep(value)) return '[nested too deeply]';
  const text = JSON.stringify(value);
  return text.length <= MAX_KEPT ? value : `${text.slice(0, MAX_KEPT)}\n[cut: too long]`;
}
