import { fileURLToPath } from 'node:url';
import type { Bind, Needs } from '../core/command.ts';
import type { Enclosure } from './sandbox.ts';

/** How a turn reaches hosts, from its namespace that has none. */
interface WayOut {
  readonly binds: readonly Bind[];
  readonly env: Readonly<Record<string, string>>;
  wrap(command: readonly string[]): readonly string[];
  close(): Promise<void>;
}

const RELAY = fileURLToPath(new URL('./relay.cjs', import.meta.url));
/** The namespace is the turn's own, so it is free. */
const PORT = 18731;

/**
 * The relay in the background, then the program in the shell's own place, so that its exit code and signals are its own.
 * What it says when it is there comes by a pipe with a name, which is the only kind that every shell has. The relay is not
 * told of itself: a Node that is takes twice as long to start.
 */
const SCRIPT = `
/usr/bin/mkfifo /run/relay || exit 126
(unset NODE_USE_ENV_PROXY; exec "$1" "$2" "$3" "$4" >/run/relay) &
read -r said </run/relay
[ "$said" = up ] || exit 126
shift 4
exec "$@"`;

const none: WayOut = { binds: [], env: {}, wrap: (command) => command, close: async () => {} };

/** A proxy on a socket of the turn's own, and inside, before the program, a relay to it. None where nothing may be reached. */
export async function openWayOut(socket: string, needs: Needs, enclosure: Enclosure): Promise<WayOut> {
  const hosts = [...enclosure.hosts, ...(needs.hosts ?? [])];
  const { endpoints = [] } = needs;
  if (hosts.length === 0 && endpoints.length === 0) return none;
  // Loaded by the first turn that reaches anything: with it comes all that Node has for HTTP.
  const { openProxy } = await import('./proxy.ts');
  const proxy = await openProxy({ path: socket, hosts, endpoints });
  const address = `http://127.0.0.1:${PORT}`;
  return {
    binds: [
      { source: socket, target: socket, mode: 'rw' },
      { source: RELAY, target: RELAY, mode: 'ro' },
      { source: process.execPath, target: process.execPath, mode: 'ro' },
    ],
    env: {
      ...(hosts.length > 0 && proxyVariables(address)),
      ...Object.fromEntries(endpoints.map(({ variable }, index) => [variable, `${address}/${index}`])),
    },
    wrap: (command) => ['/bin/sh', '-c', SCRIPT, 'sh', process.execPath, RELAY, socket, String(PORT), ...command],
    close: () => proxy.close(),
  };
}

/** Programs do not agree on the case; Node reads them only when it is told to. */
function proxyVariables(address: string): Record<string, string> {
  const values = { HTTP_PROXY: address, HTTPS_PROXY: address, ALL_PROXY: address, NO_PROXY: 'localhost,127.0.0.1,::1' };
  const lower = Object.entries(values).map(([name, value]) => [name.toLowerCase(), value]);
  return { ...values, ...Object.fromEntries(lower), NODE_USE_ENV_PROXY: '1' };
}
