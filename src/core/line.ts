import { SubstratError } from './errors.ts';
import { findHidden, nameCharacter, replaceHidden } from './hidden.ts';

/**
 * What prevents a text (a topic, a name, a role, a label) from being one line that shows everything it contains; null
 * if nothing does.
 */
export function lineProblem(text: string): string | null {
  const hidden = findHidden(text);
  return hidden === null ? null : `must be one line without hidden characters; it contains ${nameCharacter(hidden)}`;
}

export function checkLine(what: string, text: string): void {
  const problem = lineProblem(text);
  if (problem !== null) throw new SubstratError('bad_request', `${what} ${problem}.`);
}

/** The same check for a schema: `z.string().superRefine(asLine)`. */
export function asLine(text: string, context: { addIssue(problem: string): void }): void {
  const problem = lineProblem(text);
  if (problem !== null) context.addIssue(problem);
}

/** Turns any text into one line: for excerpts, and for text stored before it was checked. */
export function toLine(text: string): string {
  return replaceHidden(text, (hidden) => (/[\p{Cc}\p{Zl}\p{Zp}]/u.test(hidden) ? ' ' : ''))
    .replace(/\s+/g, ' ')
    .trim();
}
