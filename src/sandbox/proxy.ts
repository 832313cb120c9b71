import { lookup } from 'node:dns/promises';
import { chmodSync, rmSync } from 'node:fs';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as requestHttp,
  type ServerResponse,
} from 'node:http';
import { request as requestHttps } from 'node:https';
import { connect, isIP, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Endpoint } from '../core/command.ts';
import { createAllowList, normalName } from './hosts.ts';

export interface ProxyOptions {
  readonly path: string;
  readonly hosts: readonly string[];
  readonly endpoints: readonly Endpoint[];
}

export interface OpenProxy {
  close(): Promise<void>;
}

const MAX_HEADERS = 32 * 1024;
const MAX_CONNECTIONS = 256;
const HEADERS_MS = 10_000;
const CONNECT_MS = 15_000;
/** A model may think for long without a word. */
const IDLE_MS = 15 * 60_000;
const hopByHop = [
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];

/** Said to the program that asked; it is no secret from the agent what it may not do. */
class Refusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/**
 * One run's way out: CONNECT and plain HTTP to the hosts that are allowed, and `/0/…`, `/1/…` to the endpoints, whose
 * keys are added here. A name is resolved here, once, and the connection goes to the very address that was looked at.
 */
export async function openProxy({ path, hosts, endpoints }: ProxyOptions): Promise<OpenProxy> {
  const allowed = createAllowList(hosts);
  const sockets = new Set<Duplex>();
  const server = createServer({ maxHeaderSize: MAX_HEADERS, headersTimeout: HEADERS_MS, requestTimeout: 0 });
  server.maxConnections = MAX_CONNECTIONS;
  server.timeout = IDLE_MS;

  const dial = async (host: string, port: number): Promise<Socket> => {
    if (!allowed.allowsName(host, port)) {
      throw new Refusal(403, `${host}:${port} is not among the hosts that this agent may reach ([sandbox] network).`);
    }
    const found = isIP(host) ? [{ address: host }] : await lookup(host, { all: true });
    const open = found.filter(({ address }) => allowed.allowsAddress(address, port));
    if (open.length === 0) {
      const told = found.map(({ address }) => address).join(', ');
      throw new Refusal(403, `${host} is at ${told}, which is no public address; list the address itself to allow it.`);
    }
    let problem: unknown;
    for (const { address } of open) {
      const socket = connect({ host: address, port });
      keep(socket);
      try {
        await connected(socket);
        return socket;
      } catch (error) {
        problem = error;
      }
    }
    throw problem;
  };

  const tunnel = async (request: IncomingMessage, client: Duplex, head: Buffer): Promise<void> => {
    const [, host = '', port = ''] = /^(.+):(\d{1,5})$/.exec(request.url ?? '') ?? [];
    if (!host) throw new Refusal(400, 'CONNECT needs a host and a port.');
    const upstream = await dial(normalName(host), Number(port));
    client.write('HTTP/1.1 200 Connection established\r\n\r\n');
    if (head.length > 0) upstream.write(head);
    upstream.pipe(client).pipe(upstream);
    upstream.on('close', () => client.destroy());
    client.on('close', () => upstream.destroy());
  };

  const forward = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { url: asked = '', method = 'GET' } = request;
    const isEndpoint = asked.startsWith('/');
    const { url, headers } = isEndpoint ? ofEndpoint(asked, endpoints) : { url: toPlainUrl(asked), headers: {} };
    const host = normalName(url.hostname);
    // The person named an endpoint's address with its key, so it needs no place on the list.
    const socket = isEndpoint ? null : await dial(host, Number(url.port || 80));
    const upstream = (url.protocol === 'https:' ? requestHttps : requestHttp)({
      host,
      ...(url.port && { port: url.port }),
      method,
      path: `${url.pathname}${url.search}`,
      headers: { ...endToEnd(request.headers, headers), host: url.host, ...headers },
      agent: false,
      timeout: IDLE_MS,
      ...(socket && { createConnection: () => socket }),
    });
    upstream.on('timeout', () => upstream.destroy(new Refusal(504, `${host} was silent for too long.`)));
    upstream.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, endToEnd(answer.headers, {}));
      answer.on('error', () => response.destroy());
      answer.pipe(response);
    });
    response.on('close', () => upstream.destroy());
    upstream.on('error', (error) => refuse(response, error));
    request.pipe(upstream);
  };

  function keep(socket: Duplex): void {
    sockets.add(socket);
    (socket as Socket).setTimeout?.(IDLE_MS, () => socket.destroy());
    // A broken connection is its program's affair.
    socket.on('error', () => socket.destroy());
    socket.on('close', () => sockets.delete(socket));
  }

  server.on('connection', keep);
  server.on('connect', (request, client, head) => {
    tunnel(request, client, head).catch((error) => {
      const { status, message } = asRefusal(error);
      client.end(`HTTP/1.1 ${status} Refused\r\nconnection: close\r\ncontent-type: text/plain\r\n\r\n${message}\n`);
    });
  });
  server.on('request', (request, response) => {
    forward(request, response).catch((error) => refuse(response, error));
  });
  rmSync(path, { force: true });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(path, resolve));
  chmodSync(path, 0o600);
  return {
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
      rmSync(path, { force: true });
    },
  };
}

/** The address that the program was told begins with the endpoint's number. */
function ofEndpoint(path: string, endpoints: readonly Endpoint[]): { url: URL; headers: Endpoint['headers'] } {
  const [, number = '', rest = ''] = /^\/(\d{1,3})(\/.*|\?.*|)$/.exec(path) ?? [];
  const endpoint = endpoints[Number(number)];
  if (number === '' || !endpoint) throw new Refusal(404, 'There is no such endpoint.');
  const base = endpoint.url.replace(/\/$/, '');
  const url = toUrl(base + rest);
  // Steps up would leave the part of the service that the key was given for.
  if (!url.href.startsWith(new URL(base).href.replace(/\/$/, '')))
    throw new Refusal(400, 'The path leads out of the endpoint.');
  return { url, headers: endpoint.headers };
}

/** What comes encrypted comes by CONNECT. */
function toPlainUrl(text: string): URL {
  const url = toUrl(text);
  if (url.protocol === 'http:') return url;
  throw new Refusal(400, 'Use CONNECT for HTTPS.');
}

function toUrl(text: string): URL {
  const url = URL.parse(text);
  if (url && (url.protocol === 'http:' || url.protocol === 'https:')) return url;
  throw new Refusal(400, 'This is no address of HTTP.');
}

/** Without what belongs to this one connection, and without what is set here. */
function endToEnd(headers: IncomingHttpHeaders, set: Endpoint['headers']): IncomingHttpHeaders {
  const named = `${headers.connection ?? ''}`.toLowerCase().split(/\s*,\s*/);
  const dropped = new Set([...hopByHop, ...named, ...Object.keys(set).map((name) => name.toLowerCase())]);
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !dropped.has(name)));
}

function connected(socket: Socket): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => socket.destroy(new Error('it does not answer')), CONNECT_MS);
    socket.once('connect', resolve).once('error', reject);
    socket.once('close', () => reject(new Error('it closed the connection')));
    socket.once('connect', () => clearTimeout(timer)).once('close', () => clearTimeout(timer));
  });
}

function refuse(response: ServerResponse, error: unknown): void {
  const { status, message } = asRefusal(error);
  if (response.headersSent) return void response.destroy();
  response.writeHead(status, { 'content-type': 'text/plain', connection: 'close' }).end(`${message}\n`);
}

function asRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  return new Refusal(502, `The host cannot be reached: ${(error as NodeJS.ErrnoException).code ?? 'it failed'}.`);
}
