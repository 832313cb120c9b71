/** Smaller ones are corrections that a running clock makes. */
const SMALLEST_STEP_MS = 1_000;

/**
 * Notices when the wall clock was set back: by how much it is behind of what a monotonic clock expects, as a negative
 * number, else 0. A clock that was set forward only ends waits early; nor can it be told from a machine that slept.
 */
export function watchClock(wall: () => number, monotonic: () => number): () => number {
  let last = { wall: wall(), monotonic: monotonic() };
  return () => {
    const now = { wall: wall(), monotonic: monotonic() };
    const step = now.wall - last.wall - (now.monotonic - last.monotonic);
    last = now;
    return step < -SMALLEST_STEP_MS ? Math.round(step) : 0;
  };
}
