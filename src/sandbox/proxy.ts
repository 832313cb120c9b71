import { lookup as lookupAddress } from 'node:dns/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Server, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Endpoint } from '../core/command.ts';
import { dial, type Lookup } from './dial.ts';
import { findEndpoint, toUrl } from './endpoint.ts';
import { forward, IDLE_MS, type Target } from './forward.ts';
import { createAllowList, normalName } from './hosts.ts';
import { asRefusal, Refusal, refuse } from './refusal.ts';

export interface ProxyOptions {
  readonly hosts: readonly string[];
  readonly endpoints: readonly Endpoint[];
  readonly lookup?: Lookup;
}

export interface RunProxy {
  /** Takes over a listening socket. */
  serve(listening: Server): void;
  /** Closes every connection and the listening socket. */
  close(): Promise<void>;
}

const MAX_HEADERS = 32 * 1024;
const MAX_CONNECTIONS = 256;
const HEADERS_MS = 10_000;
const lookupAll: Lookup = (host) => lookupAddress(host, { all: true });

/**
 * The outgoing proxy of one run: CONNECT and plain HTTP to the allowed hosts, and `/0/…`, `/1/…` to the endpoints,
 * whose keys are added here.
 */
export function createProxy({ hosts, endpoints, lookup = lookupAll }: ProxyOptions): RunProxy {
  const sockets = new Set<Duplex>();
  const dialing = { allowed: createAllowList(hosts), lookup, keep };
  const server = createServer({ maxHeaderSize: MAX_HEADERS, headersTimeout: HEADERS_MS, requestTimeout: 0 });
  server.maxConnections = MAX_CONNECTIONS;
  server.timeout = IDLE_MS;

  const tunnel = async (request: IncomingMessage, client: Duplex, head: Buffer): Promise<void> => {
    const [, host = '', port = ''] = /^(.+):(\d{1,5})$/.exec(request.url ?? '') ?? [];
    if (!host) throw new Refusal(400, 'CONNECT needs a host and a port.');
    const upstream = await dial(dialing, normalName(host), Number(port));
    if (client.destroyed) return void upstream.destroy();
    client.write('HTTP/1.1 200 Connection established\r\n\r\n');
    if (head.length > 0) upstream.write(head);
    upstream.pipe(client).pipe(upstream);
    upstream.on('close', () => client.destroy());
    client.on('close', () => upstream.destroy());
  };

  const targetOf = async ({ url: asked = '', method = '' }: IncomingMessage): Promise<Target> => {
    // The person configured the endpoint's address with its key, so it is not checked against the list.
    if (asked.startsWith('/')) return { ...findEndpoint(method, asked, endpoints), socket: null };
    const url = toUrl(asked);
    if (url.protocol !== 'http:') throw new Refusal(400, 'Use CONNECT for HTTPS.');
    return { url, headers: {}, socket: await dial(dialing, normalName(url.hostname), Number(url.port || 80)) };
  };

  /** Requests without a response yet. Bounded, because one connection can send many. */
  let open = 0;
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    open += 1;
    response.on('close', () => {
      open -= 1;
    });
    if (open > MAX_CONNECTIONS) throw new Refusal(503, `This agent already has ${MAX_CONNECTIONS} open requests.`);
    const target = await targetOf(request);
    try {
      if (response.destroyed) throw new Refusal(499, 'The program closed the connection.');
      forward(request, response, target);
    } catch (error) {
      target.socket?.destroy();
      throw error;
    }
  };

  function keep(socket: Duplex): void {
    sockets.add(socket);
    (socket as Socket).setTimeout?.(IDLE_MS, () => socket.destroy());
    // A broken connection only affects its own program.
    socket.on('error', () => socket.destroy());
    socket.on('close', () => sockets.delete(socket));
  }

  server.on('connection', keep);
  server.on('connect', (request, client, head) => {
    tunnel(request, client, head).catch((error: unknown) => {
      const { status, message } = asRefusal(error);
      client.end(`HTTP/1.1 ${status} Refused\r\nconnection: close\r\ncontent-type: text/plain\r\n\r\n${message}\n`);
    });
  });
  server.on('request', (request, response) => {
    answer(request, response).catch((error: unknown) => refuse(response, error));
  });
  // A connection that cannot be accepted, for example for lack of descriptors, is dropped; the server continues.
  server.on('error', () => {});
  let closed = false;
  return {
    serve: (listening) => {
      if (closed) listening.close();
      else server.listen(listening);
    },
    close: async () => {
      closed = true;
      const ended = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await ended;
    },
  };
}
