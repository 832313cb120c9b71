/** Always free, because a turn in a sandbox has its own network namespace. */
export const PROXY_PORT = 18731;

/** The path of the run's tools, which no endpoint has. */
export const TOOLS_PATH = '/mcp';
/** Where a program in a sandbox finds the run's tools, if it needs them over HTTP. */
export const TOOLS_ADDRESS = `http://127.0.0.1:${PROXY_PORT}${TOOLS_PATH}`;

/** Where a program in a sandbox finds the endpoint with that index: for programs that want it in a file. */
export function endpointAddress(index: number): string {
  return `http://127.0.0.1:${PROXY_PORT}/${index}`;
}
