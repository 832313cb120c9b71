import { fileURLToPath } from 'node:url';
import type { Bind, Needs, SocketReceiver } from '../core/command.ts';
import { endpointAddress, PROXY_PORT } from '../core/endpoint-address.ts';
import { normalName } from './hosts.ts';
import type { Service } from './proxy.ts';
import type { Enclosure } from './sandbox.ts';

/** How a turn reaches hosts from its network namespace, which has no network. */
interface WayOut {
  readonly binds: readonly Bind[];
  readonly env: Readonly<Record<string, string>>;
  /** The descriptors that must be open inside, at `descriptor`. */
  readonly files: readonly SocketReceiver[];
  wrap(command: readonly string[], descriptor: number): readonly string[];
  /** The bytes that have passed. */
  traffic(): number;
  close(): Promise<void>;
}

const OPEN_PORT = fileURLToPath(new URL('./port.cjs', import.meta.url));
const MOST_SERVICES = 16;

/**
 * Opens the port, then execs the program in the shell's place, so that exit code and signals are the program's own.
 * The program does not inherit the channel over which the port was sent. The program's variables are unset for this
 * Node; NODE_USE_ENV_PROXY alone would double its startup time.
 */
const SCRIPT = `
(unset NODE_USE_ENV_PROXY NODE_OPTIONS; exec "$1" "$2" "$3") || exit 126
unset NODE_CHANNEL_FD NODE_CHANNEL_SERIALIZATION_MODE
shift 3
exec "$@"`;

/**
 * The same while the program starts. The daemon withholds the input until it has the port; if the port cannot be opened,
 * for example because the program has taken it, the program is killed. The process that opens it is not the program's
 * child.
 */
const MEANWHILE = `
((unset NODE_USE_ENV_PROXY NODE_OPTIONS; "$1" "$2" "$3" || kill -KILL $$) </dev/null >/dev/null &)
unset NODE_CHANNEL_FD NODE_CHANNEL_SERIALIZATION_MODE
shift 3
exec "$@"`;

/**
 * Starts a proxy in the daemon with a port in the turn's network namespace. Does nothing if no host, no endpoint
 * and no tools may be reached. A shell executes `first` inside before the program starts.
 */
export async function openWayOut(needs: Needs, enclosure: Enclosure, first: string): Promise<WayOut> {
  const hosts = [...enclosure.hosts, ...(needs.hosts ?? [])];
  const { endpoints = [] } = needs;
  const serveTools = needs.tools ? enclosure.serveTools : undefined;
  if (hosts.length === 0 && endpoints.length === 0 && !serveTools) return nowhere(first);
  // Loaded on first use, because it loads all of Node's HTTP modules.
  const { createProxy } = await import('./proxy.ts');
  const proxy = createProxy({ hosts, endpoints, ...(serveTools && { serveTools }) });
  const local = localServices(hosts);
  const ports = [PROXY_PORT, ...local.map(({ port }) => port)];
  const address = `http://127.0.0.1:${PROXY_PORT}`;
  return {
    binds: [
      { source: OPEN_PORT, target: OPEN_PORT, mode: 'ro' },
      { source: process.execPath, target: process.execPath, mode: 'ro' },
    ],
    env: {
      ...(hosts.length > 0 && proxyVariables(address)),
      ...Object.fromEntries(endpoints.map(({ variable }, index) => [variable, endpointAddress(index)])),
    },
    files: [
      {
        count: ports.length,
        receive: (listening, index) => {
          const service = local[index - 1];
          if (service) proxy.relay(listening, service);
          else proxy.serve(listening);
        },
      },
    ],
    wrap: (command, descriptor) => {
      const closing = `${first}${needs.waits ? MEANWHILE : SCRIPT} ${descriptor}>&-`; // the channel
      return ['/bin/sh', '-c', closing, 'sh', process.execPath, OPEN_PORT, ports.join(','), ...command];
    },
    traffic: proxy.traffic,
    close: proxy.close,
  };
}

function nowhere(first: string): WayOut {
  return {
    binds: [],
    env: {},
    files: [],
    wrap: (command) => ['/bin/sh', '-c', `${first}\nexec "$@"`, 'sh', ...command],
    traffic: () => 0,
    close: async () => {},
  };
}

/**
 * The listed services of this machine. Programs do not use a proxy for loopback addresses (`NO_PROXY`), and their own
 * servers are there, too: so each listed port is opened inside and leads to the service. Ports below 1024 cannot be
 * opened inside.
 */
function localServices(hosts: readonly string[]): Service[] {
  const listed = hosts.map((entry) => /^(127\.[\d.]+|localhost|\[::1\]):(\d+)$/.exec(entry.toLowerCase()));
  const services = listed.flatMap((found) =>
    found ? [{ host: normalName(found[1] ?? ''), port: Number(found[2]) }] : [],
  );
  const open = services.filter(({ port }) => port >= 1024 && port <= 65_535 && port !== PROXY_PORT);
  return [...new Map(open.map((service) => [service.port, service])).values()].slice(0, MOST_SERVICES);
}

/** Programs disagree on the case of these variables; Node only reads them when told to. */
function proxyVariables(address: string): Record<string, string> {
  const values = { HTTP_PROXY: address, HTTPS_PROXY: address, ALL_PROXY: address, NO_PROXY: 'localhost,127.0.0.1,::1' };
  const lower = Object.entries(values).map(([name, value]) => [name.toLowerCase(), value]);
  return { ...values, ...Object.fromEntries(lower), NODE_USE_ENV_PROXY: '1' };
}
