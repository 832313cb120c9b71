import type * as z from 'zod';
import { shorten } from './text.ts';

const MOST_PROBLEMS = 10;

/** Describes what is wrong with an input in a text of bounded length: `query: expected string, received undefined`. */
export function describeProblems({ issues }: Pick<z.core.$ZodError, 'issues'>): string {
  const problems = issues.slice(0, MOST_PROBLEMS).map(({ path, message }) => {
    const plain = message.replace(/^Invalid input: /, '').replace(/^Invalid input$/, 'is not in an allowed form');
    if (path.length === 0) return plain;
    // Our own messages continue the field's name as a sentence; zod's do not.
    return `${shorten(path.join('.'))}${/^(must|has|is|are|may) /.test(plain) ? '' : ':'} ${plain}`;
  });
  const more = issues.length - problems.length;
  return shorten(`${problems.join('; ')}${more > 0 ? `; and ${more} more` : ''}`, 1000);
}
