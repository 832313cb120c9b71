/** Which messages are drawn: from `start` up to, without, `end`. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Never more elements than this. */
export const MOST_ROWS = 300;
const FIRST_ROWS = 40;
/** So many at a time: more would hold up a frame. */
const STEP = 6;
/** Above the first unread message. */
const CONTEXT = 12;

/** Where one begins: at the end, or so that the first unread message has some context above. */
export function settle(length: number, unread: number): Span {
  const wanted = Math.min(MOST_ROWS, Math.max(FIRST_ROWS, unread + CONTEXT));
  const start = Math.max(0, length - Math.max(FIRST_ROWS, unread + CONTEXT));
  return { start, end: Math.min(length, start + wanted) };
}

/** After messages came: `added` above, the others below. */
export function grow(
  { start, end }: Span,
  { length, added, follow }: { readonly length: number; readonly added: number; readonly follow: boolean },
): Span {
  const moved = { start: start + added, end: end + added };
  // What was drawn was forgotten: it begins again at the end.
  if (end === 0 || moved.start >= length) return settle(length, 0);
  if (follow) return { start: Math.max(moved.start, length - MOST_ROWS), end: length };
  // Drawn below, out of sight, while there is room.
  return { start: moved.start, end: Math.min(length, Math.max(moved.end, moved.start + MOST_ROWS)) };
}

/** After scrolling near to an end of what is drawn. */
export function slide(
  span: Span,
  { length, above, below }: { readonly length: number; readonly above: boolean; readonly below: boolean },
): Span {
  if (above && span.start > 0) {
    const start = Math.max(0, span.start - STEP);
    return { start, end: Math.min(span.end, start + MOST_ROWS) };
  }
  if (below && span.end < length) {
    const end = Math.min(length, span.end + STEP);
    return { start: Math.max(span.start, end - MOST_ROWS), end };
  }
  return span;
}
