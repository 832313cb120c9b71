import type { Server } from 'node:http';
import { createAdaptorServer } from '@hono/node-server';
import { SubstratError } from '../core/errors.ts';
import { parseBounded } from '../core/json-bounds.ts';
import { readBytes } from '../core/response.ts';
import { boundConnections } from './connections.ts';

const MAX_CONNECTIONS = 4096;

export function createServer(app: { fetch: (request: Request) => Response | Promise<Response> }): Server {
  const server = createAdaptorServer({ fetch: app.fetch, serverOptions: LIMITS }) as Server;
  boundConnections(server, MAX_CONNECTIONS);
  return server;
}

/** Timeouts for slow or endless requests. Responses have none, because of streams. */
const LIMITS = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 5_000,
  connectionsCheckingInterval: 2_000,
  maxHeaderSize: 16_384,
};

export function listen(server: Server, where: { path: string } | { host: string; port: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', async (error: NodeJS.ErrnoException) => {
      const place = 'path' in where ? where.path : `${bracketed(where.host)}:${where.port}`;
      const why = error.code === 'EADDRINUSE' ? await describeHolder(where) : error.message;
      reject(new SubstratError('config', `Cannot listen on ${place}: ${why}.`, { cause: error }));
    });
    server.listen(where, () => {
      // If a connection cannot be accepted, for example for lack of descriptors, the client may retry.
      server.removeAllListeners('error').on('error', () => {});
      resolve();
    });
  });
}

export async function closeServers(servers: readonly Server[]): Promise<void> {
  await Promise.all(
    servers.map((server) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      server.close(() => resolve());
      server.closeAllConnections();
      return promise;
    }),
  );
}

/** Accepted `Host` values. On a wildcard address our names are unknown, so only loopback names are accepted. */
export function hostNames(host: string, port: number): string[] {
  return [...new Set([bracketed(host), '127.0.0.1', 'localhost', '[::1]'])].map((name) => `${name}:${port}`);
}

export function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

async function describeHolder(where: { path: string } | { host: string; port: number }): Promise<string> {
  const holder = `${await holderOf(where)} uses it`;
  if ('path' in where) return holder;
  const free = `\`--bind ${bracketed(where.host)}:0\` picks a free one; [server] bind in the configuration sets it for good`;
  return `${holder}. Use another port: ${free}`;
}

/** Which program already listens there, if it identifies itself. */
async function holderOf(where: { path: string } | { host: string; port: number }): Promise<string> {
  if ('path' in where) return 'another program';
  try {
    const url = `http://${bracketed(where.host)}:${where.port}/health`;
    const answer = await fetch(url, { signal: AbortSignal.timeout(HEALTH_MS) });
    const { name = null } = parseBounded(await readBytes(answer, MAX_HEALTH)) as { name?: string | null };
    if (name === 'daemon') return 'another Substrat daemon';
    if (name === 'ctx') return 'another `ctx serve mcp`';
  } catch {
    // It does not identify itself.
  }
  return 'another program';
}

const HEALTH_MS = 1000;
const MAX_HEALTH = 10_000;
