import { type IncomingHttpHeaders, type IncomingMessage, request as requestHttp, type ServerResponse } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Socket } from 'node:net';
import type { Endpoint } from '../core/command.ts';
import { shownHeaders } from './dialect.ts';
import { normalName } from './hosts.ts';
import { Refusal, refuse } from './refusal.ts';

export interface Target {
  readonly url: URL;
  /** Override whatever the program sends. */
  readonly headers: Endpoint['headers'];
  /** The only connection to use. Null: the address is trusted. */
  readonly socket: Socket | null;
  /** Set for a model request, whose body has been read and whose response is filtered and counted. */
  readonly model?: {
    readonly body: Buffer | null;
    onResponse(answer: IncomingMessage): void;
    /** The request is over: answered, failed, or given up. */
    over(): void;
  };
}

/** A model may be silent for a long time before it responds. */
export const IDLE_MS = 15 * 60_000;

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

/**
 * Forwards one request and its response. Throws only before anything is sent; later failures end this response,
 * because an exception in an event handler would end the daemon.
 */
export function forward(request: IncomingMessage, response: ServerResponse, target: Target): void {
  const { url, headers, socket, model } = target;
  const host = normalName(url.hostname);
  if (socket?.destroyed) throw new Refusal(502, `${host} closed the connection.`);
  const upstream = (url.protocol === 'https:' ? requestHttps : requestHttp)({
    host,
    ...(url.port && { port: url.port }),
    method: request.method ?? 'GET',
    path: `${url.pathname}${url.search}`,
    headers: {
      ...endToEnd(request.headers, headers),
      ...(model ? framed(model.body) : framing(request)),
      host: url.host,
      ...headers,
    },
    timeout: IDLE_MS,
    // With `agent: false`, Node would ignore createConnection, resolve the name again and open its own connection.
    ...(socket ? { createConnection: () => socket } : { agent: false }),
  });
  const fail = (error: unknown): void => refuse(response, error);
  upstream.on('response', (answer) => {
    answer.on('error', () => response.destroy());
    try {
      const shown = endToEnd(answer.headers, {});
      response.writeHead(statusOf(answer), model ? shownHeaders(shown) : shown);
      model?.onResponse(answer);
      answer.pipe(response);
    } catch (error) {
      fail(error instanceof Refusal ? error : new Refusal(502, `${host} sent a response that is not valid HTTP.`));
      upstream.destroy();
    }
  });
  upstream.on('timeout', () => upstream.destroy(new Refusal(504, `${host} timed out.`)));
  upstream.on('error', fail);
  // Also emitted without an error, for example when the host switches the protocol unasked.
  upstream.on('close', () => response.headersSent || fail(new Refusal(502, `${host} closed the connection.`)));
  socket?.on('close', () => upstream.destroy());
  response.on('error', () => upstream.destroy());
  response.on('close', () => upstream.destroy());
  request.on('error', () => upstream.destroy());
  if (model) upstream.end(model.body ?? undefined);
  else request.pipe(upstream);
}

/** Node accepts statuses from 100, but those below 200 are not final responses. */
function statusOf({ statusCode = 0 }: IncomingMessage): number {
  if (statusCode >= 200 && statusCode <= 999) return statusCode;
  throw new Refusal(502, `The host returned the status ${String(statusCode).padStart(3, '0')}, which is not valid.`);
}

/** Without explicit framing, Node sends the body of GET, HEAD, DELETE and OPTIONS unframed. */
function framing({ headers }: IncomingMessage): IncomingHttpHeaders {
  const encoding = headers['transfer-encoding'];
  if (encoding === undefined) return {};
  if (encoding.toLowerCase() !== 'chunked') throw new Refusal(501, `Transfer-Encoding ${encoding} is not supported.`);
  return { 'transfer-encoding': 'chunked' };
}

/** A compressed response could not be counted. */
function framed(body: Buffer | null): IncomingHttpHeaders {
  return { 'accept-encoding': 'identity', ...(body && { 'content-length': String(body.length) }) };
}

/** Removes hop-by-hop headers and those that are set here. */
function endToEnd(headers: IncomingHttpHeaders, set: Endpoint['headers']): IncomingHttpHeaders {
  const named = `${headers.connection ?? ''}`.toLowerCase().split(/\s*,\s*/);
  const dropped = new Set([...hopByHop, ...named, ...Object.keys(set).map((name) => name.toLowerCase())]);
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !dropped.has(name)));
}
