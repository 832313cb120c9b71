/** Counts of what may grow forever stop here, so that they cost the same however much there is. */
export const MOST_COUNTED = 100;

/** A capped count, for people and models. */
export function showCount(count: number): string {
  return count >= MOST_COUNTED ? `${MOST_COUNTED - 1}+` : String(count);
}
