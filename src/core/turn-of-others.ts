/** Yields to the event loop, so that other work in this process can proceed. */
export function turnOfOthers(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
