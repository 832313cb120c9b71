import { fileURLToPath } from 'node:url';
import type { Bind, Needs, SocketReceiver } from '../core/command.ts';
import type { Enclosure } from './sandbox.ts';

/** How a turn reaches hosts, from its namespace that has none. */
interface WayOut {
  readonly binds: readonly Bind[];
  readonly env: Readonly<Record<string, string>>;
  /** What has to be open inside, at `descriptor`. */
  readonly files: readonly SocketReceiver[];
  wrap(command: readonly string[], descriptor: number): readonly string[];
  close(): Promise<void>;
}

const OPEN_PORT = fileURLToPath(new URL('./port.cjs', import.meta.url));
/** The namespace is the turn's own, so it is free. */
const PORT = 18731;

/**
 * Opens the port, then runs the program in the shell's own place, so that its exit code and signals are its own. The
 * program does not get the channel over which the port was sent. NODE_USE_ENV_PROXY doubles the time that a Node needs to
 * start, and none of the program's variables are meant for this one.
 */
const SCRIPT = `
(unset NODE_USE_ENV_PROXY NODE_OPTIONS; exec "$1" "$2" "$3") || exit 126
unset NODE_CHANNEL_FD NODE_CHANNEL_SERIALIZATION_MODE
shift 3
exec "$@"`;

const none: WayOut = { binds: [], env: {}, files: [], wrap: (command) => command, close: async () => {} };

/** A proxy in the daemon, with a port inside the turn's network namespace. None if nothing may be reached. */
export async function openWayOut(needs: Needs, enclosure: Enclosure): Promise<WayOut> {
  const hosts = [...enclosure.hosts, ...(needs.hosts ?? [])];
  const { endpoints = [] } = needs;
  if (hosts.length === 0 && endpoints.length === 0) return none;
  // Loaded by the first turn that reaches anything: with it comes all that Node has for HTTP.
  const { createProxy } = await import('./proxy.ts');
  const proxy = createProxy({ hosts, endpoints });
  const address = `http://127.0.0.1:${PORT}`;
  return {
    binds: [
      { source: OPEN_PORT, target: OPEN_PORT, mode: 'ro' },
      { source: process.execPath, target: process.execPath, mode: 'ro' },
    ],
    env: {
      ...(hosts.length > 0 && proxyVariables(address)),
      ...Object.fromEntries(endpoints.map(({ variable }, index) => [variable, `${address}/${index}`])),
    },
    files: [proxy.serve],
    wrap: (command, descriptor) => {
      const closing = `${SCRIPT} ${descriptor}>&-`; // the channel
      return ['/bin/sh', '-c', closing, 'sh', process.execPath, OPEN_PORT, String(PORT), ...command];
    },
    close: proxy.close,
  };
}

/** Programs do not agree on the case; Node reads them only when it is told to. */
function proxyVariables(address: string): Record<string, string> {
  const values = { HTTP_PROXY: address, HTTPS_PROXY: address, ALL_PROXY: address, NO_PROXY: 'localhost,127.0.0.1,::1' };
  const lower = Object.entries(values).map(([name, value]) => [name.toLowerCase(), value]);
  return { ...values, ...Object.fromEntries(lower), NODE_USE_ENV_PROXY: '1' };
}
