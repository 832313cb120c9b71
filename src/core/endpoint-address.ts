/** Always free, because a turn in a sandbox has its own network namespace. */
export const PROXY_PORT = 18731;

/** Where a program in a sandbox finds the endpoint with that index: for programs that want it in a file. */
export function endpointAddress(index: number): string {
  return `http://127.0.0.1:${PROXY_PORT}/${index}`;
}
