const LONGEST = 200;

/** A Markdown heading of the form `## text`. */
export function headingOf(line: string): { level: number; text: string } | null {
  const mark = /^ {0,3}(#{1,6})(?=[ \t]|$)/.exec(line);
  if (!mark) return null;
  let end = line.trimEnd();
  const open = withoutMarks(end);
  // Closing marks are not part of the text if a space precedes them.
  if (open !== end && (open.endsWith(' ') || open.endsWith('\t'))) end = open;
  return { level: mark[1]?.length ?? 1, text: end.slice(mark[0].length).trim().slice(0, LONGEST) };
}

/** A regular expression would restart at each mark of a long row and take quadratic time. */
function withoutMarks(text: string): string {
  let end = text.length;
  while (text[end - 1] === '#') end -= 1;
  return text.slice(0, end);
}

/**
 * For a line that opens or closes a code block: the fence that is open after it, or null. Undefined for other lines.
 */
export function isFence(line: string, open: string | null): string | null | undefined {
  const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
  if (mark === undefined) return undefined;
  if (open === null) return mark;
  const closes = mark[0] === open[0] && mark.length >= open.length && line.trim() === mark;
  return closes ? null : undefined;
}
