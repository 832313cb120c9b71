import { chmod, rm } from 'node:fs/promises';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import { SubstratError } from '../core/errors.ts';
import type { Api } from './api.ts';
import { createApp } from './app.ts';
import { boundConnections } from './connections.ts';
import { EventHub } from './hub.ts';

const MAX_CONNECTIONS = 4096;

export interface ApiServer {
  /** Null when TCP is not served. */
  readonly url: string | null;
  close(): Promise<void>;
}

export interface ServeOptions {
  /** A socket that is the owner's only: whoever can open it is the owner. */
  readonly socketPath: string;
  readonly bind: { readonly host: string; readonly port: number } | null;
  readonly token: string;
}

/** Serves the API to the owner on the socket, and to whoever has a token on TCP. */
export async function serveApi(api: Api, options: ServeOptions): Promise<ApiServer> {
  const hub = await EventHub.open(api.store);
  const { token } = options;
  const servers: Server[] = [];
  let url: string | null = null;

  const local = createServer(createApp(api, hub, { kind: 'trusted', hosts: () => [], token }));
  // The caller holds the home: a socket that is there belongs to a daemon that is dead.
  await rm(options.socketPath, { force: true });
  await listen(local, { path: options.socketPath });
  await chmod(options.socketPath, 0o600);
  servers.push(local);

  if (options.bind) {
    const { host } = options.bind;
    const port = () => (tcp.address() as AddressInfo).port;
    let names: readonly string[] | undefined;
    const hosts = () => (names ??= hostNames(host, port()));
    const tcp = createServer(createApp(api, hub, { kind: 'tcp', hosts, token }));
    await listen(tcp, options.bind).catch(async (error) => {
      await close(servers, hub);
      throw error;
    });
    servers.push(tcp);
    url = `http://${bracketed(host)}:${port()}`;
  }
  return { url, close: () => close(servers, hub) };
}

function createServer(app: { fetch: (request: Request) => Response | Promise<Response> }): Server {
  const server = createAdaptorServer({ fetch: app.fetch, serverOptions: LIMITS }) as Server;
  boundConnections(server, MAX_CONNECTIONS);
  return server;
}

/** Whoever sends slowly, or never ends, is not waited for. Answers may take as long as they like: streams do. */
const LIMITS = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 5_000,
  connectionsCheckingInterval: 2_000,
  maxHeaderSize: 16_384,
};

function listen(server: Server, where: { path: string } | { host: string; port: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const place = 'path' in where ? where.path : `${bracketed(where.host)}:${where.port}`;
      const why =
        error.code === 'EADDRINUSE'
          ? 'another program has it; set [server] bind to another port, or to port 0 for a free one'
          : error.message;
      reject(new SubstratError('config', `The daemon cannot listen on ${place}: ${why}.`, { cause: error }));
    });
    server.listen(where, () => resolve());
  });
}

async function close(servers: readonly Server[], hub: EventHub): Promise<void> {
  hub.close();
  await Promise.all(
    servers.map((server) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      server.close(() => resolve());
      server.closeAllConnections();
      return promise;
    }),
  );
}

/** What `Host` may say. On a wildcard address we cannot know our names, and only loopback ones count. */
function hostNames(host: string, port: number): string[] {
  return [...new Set([bracketed(host), '127.0.0.1', 'localhost', '[::1]'])].map((name) => `${name}:${port}`);
}

function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
