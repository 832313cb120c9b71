/** Smaller steps are normal clock corrections. */
const SMALLEST_STEP_MS = 1_000;

/**
 * Detects that the wall clock was set back: returns how far it is behind the monotonic clock, as a negative number,
 * otherwise 0. Setting the clock forward only ends waits early, and cannot be distinguished from a machine that
 * slept.
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
