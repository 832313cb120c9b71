import { lookup as lookupAddress } from 'node:dns/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Server, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Admission, AdmitRequest, Dialect, Endpoint } from '../core/command.ts';
import { TOOLS_PATH } from '../core/endpoint-address.ts';
import { dial, type Lookup } from './dial.ts';
import { type Admitted, admit } from './dialect.ts';
import { type EndpointTarget, findEndpoint, toUrl } from './endpoint.ts';
import { forward, IDLE_MS, type Target } from './forward.ts';
import { createAllowList, normalName } from './hosts.ts';
import { meter } from './meter.ts';
import { asRefusal, Refusal, refuse } from './refusal.ts';
import type { ServeTools } from './sandbox.ts';
import type { Reach } from './server-side.ts';
import { limited, worstCase } from './worst-case.ts';

export interface ProxyOptions {
  readonly hosts: readonly string[];
  readonly endpoints: readonly Endpoint[];
  readonly lookup?: Lookup;
  readonly serveTools?: ServeTools;
}

export interface RunProxy {
  /** Takes over a listening socket. */
  serve(listening: Server): void;
  /** Takes over a listening socket whose connections lead to one service of this machine. */
  relay(listening: Server, service: Service): void;
  /** The bytes that programs have sent and received. */
  traffic(): number;
  /** Closes every connection and the listening socket. */
  close(): Promise<void>;
}

/** A listed port of this machine. */
export interface Service {
  readonly host: string;
  readonly port: number;
}

const MAX_HEADERS = 32 * 1024;
const MAX_CONNECTIONS = 256;
/** The largest request that the services accept. */
const MAX_BODY = 32 * 1024 ** 2;
/** Of all requests of a turn together. */
const MAX_BODIES = 2 * MAX_BODY;
const HEADERS_MS = 10_000;
const lookupAll: Lookup = (host) => lookupAddress(host, { all: true });

/**
 * The outgoing proxy of one run: CONNECT and plain HTTP to the allowed hosts, and `/0/…`, `/1/…` to the endpoints,
 * whose keys are added here. An endpoint with a dialect takes model requests only. `/mcp` are the run's tools.
 */
export function createProxy({ hosts, endpoints, lookup = lookupAll, serveTools }: ProxyOptions): RunProxy {
  const sockets = new Set<Duplex>();
  const allowed = createAllowList(hosts);
  const dialing = { allowed, lookup, keep };
  const reach: Reach = {
    everywhere: hosts.includes('*'),
    allows: ({ protocol, hostname, port }) =>
      allowed.allowsName(normalName(hostname), Number(port || (protocol === 'https:' ? 443 : 80))),
  };
  const server = createServer({ maxHeaderSize: MAX_HEADERS, headersTimeout: HEADERS_MS, requestTimeout: 0 });
  server.maxConnections = MAX_CONNECTIONS;
  server.timeout = IDLE_MS;

  const tunnel = async (request: IncomingMessage, client: Duplex, head: Buffer): Promise<void> => {
    const [, host = '', port = ''] = /^(.+):(\d{1,5})$/.exec(request.url ?? '') ?? [];
    if (!host) throw new Refusal(400, 'CONNECT needs a host and a port.');
    const upstream = await dial(dialing, normalName(host), Number(port));
    if (!client.destroyed) client.write('HTTP/1.1 200 Connection established\r\n\r\n');
    if (head.length > 0) upstream.write(head);
    join(upstream, client);
  };

  const targetOf = async (request: IncomingMessage, hold: Hold): Promise<Target> => {
    const { url: asked = '', method = '' } = request;
    // The person configured the endpoint's address with its key, so it is not checked against the list.
    if (asked.startsWith('/')) return endpointTarget(request, findEndpoint(method, asked, endpoints), hold, reach);
    const url = toUrl(asked);
    if (url.protocol !== 'http:') throw new Refusal(400, 'Use CONNECT for HTTPS.');
    return { url, headers: {}, socket: await dial(dialing, normalName(url.hostname), Number(url.port || 80)) };
  };

  /** Requests without a response yet. Bounded, because one connection can send many. */
  let open = 0;
  /** The bytes of their bodies that are in memory. */
  let held = 0;
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    open += 1;
    let own = 0;
    const hold = (bytes: number): void => {
      if (response.destroyed || held + bytes > MAX_BODIES) throw new Refusal(503, 'Too many requests at once.');
      own += bytes;
      held += bytes;
    };
    response.on('close', () => {
      open -= 1;
      held -= own;
    });
    if (open > MAX_CONNECTIONS) throw new Refusal(503, `This agent already has ${MAX_CONNECTIONS} open requests.`);
    if (serveTools && request.url === TOOLS_PATH) return serveTools(request, response);
    const target = await targetOf(request, hold);
    const over = target.model?.over;
    if (over) response.on('close', over);
    try {
      if (response.destroyed) throw new Refusal(499, 'The program closed the connection.');
      forward(request, response, target);
    } catch (error) {
      over?.();
      target.socket?.destroy();
      throw error;
    }
  };

  let passed = 0;
  const bytesOf = (socket: Duplex): number => {
    const { bytesRead = 0, bytesWritten = 0 } = socket as Partial<Socket>;
    return bytesRead + bytesWritten;
  };

  function keep(socket: Duplex): void {
    sockets.add(socket);
    (socket as Socket).setTimeout?.(IDLE_MS, () => socket.destroy());
    // A broken connection only affects its own program.
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      passed += bytesOf(socket);
      sockets.delete(socket);
    });
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
  const relays: Server[] = [];
  let closed = false;
  return {
    serve: (listening) => {
      if (closed) listening.close();
      else server.listen(listening);
    },
    relay: (listening, service) => {
      if (closed) return void listening.close();
      relays.push(listening);
      listening.maxConnections = MAX_CONNECTIONS;
      listening.on('error', () => {});
      listening.on('connection', (client) => {
        keep(client);
        dial(dialing, service.host, service.port).then(
          (upstream) => join(upstream, client),
          () => client.destroy(),
        );
      });
    },
    traffic: () => [...sockets].reduce((sum, socket) => sum + bytesOf(socket), passed),
    close: async () => {
      closed = true;
      const ended = new Promise((resolve) => server.close(resolve));
      for (const listening of relays) listening.close();
      for (const socket of sockets) socket.destroy();
      await ended;
    },
  };
}

function join(upstream: Duplex, client: Duplex): void {
  if (client.destroyed) return void upstream.destroy();
  upstream.pipe(client).pipe(upstream);
  upstream.on('close', () => client.destroy());
  client.on('close', () => upstream.destroy());
}

async function endpointTarget(
  request: IncomingMessage,
  { url, endpoint }: EndpointTarget,
  hold: Hold,
  reach: Reach,
): Promise<Target> {
  const { headers, dialect, onAnswer } = endpoint;
  if (dialect === undefined) return { url, headers, socket: null };
  const asked = await admitted({ ...endpoint, dialect }, request, url, hold, reach);
  const { onRequest } = endpoint;
  const { body, admission } =
    asked.generates && onRequest
      ? await withinBudgets(onRequest, dialect, asked)
      : { body: asked.body, admission: null };
  const bytes = asked.generates ? (body?.length ?? 0) : null;
  let isAnswered = false;
  const onResponse = (answer: IncomingMessage) => {
    isAnswered = true;
    meter(answer, { model: asked.model, bytes }, (counted) => {
      onAnswer?.(counted);
      admission?.over();
    });
  };
  // An answer is over when it was counted.
  const over = () => {
    if (!isAnswered) admission?.over();
  };
  return { url: asked.url, headers, socket: null, model: { body, onResponse, over } };
}

/** Asks whether what the request can use may be used, and limits what the model writes to that. */
async function withinBudgets(
  ask: AdmitRequest,
  dialect: Dialect,
  { body, fields, url, model }: Admitted,
): Promise<{ readonly body: Buffer | null; readonly admission: Admission | null }> {
  const worst = worstCase(dialect, fields, body?.length ?? 0);
  const admission = await ask({ model, ...worst });
  if (!admission) throw new Refusal(402, 'A budget of this agent does not allow this request. The turn ends.', dialect);
  const sent = limited(dialect, url.pathname, fields, admission.outputTokens);
  return { body: sent === fields ? body : Buffer.from(JSON.stringify(sent)), admission };
}

async function admitted(
  endpoint: Endpoint & { readonly dialect: Dialect },
  request: IncomingMessage,
  url: URL,
  hold: Hold,
  reach: Reach,
): Promise<Admitted> {
  try {
    return admit(endpoint, request.method ?? '', url, await readBody(request, hold), reach);
  } catch (error) {
    throw error instanceof Refusal ? new Refusal(error.status, error.message, endpoint.dialect) : error;
  }
}

/** Counts bytes that are kept until the request is answered; throws if there are too many. */
type Hold = (bytes: number) => void;

async function readBody(request: IncomingMessage, hold: Hold): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BODY) throw new Refusal(413, `A model request may have ${MAX_BODY / 1024 ** 2} MiB at most.`);
    hold(chunk.length);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
