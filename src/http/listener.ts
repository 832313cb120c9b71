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

/** Whoever sends slowly, or never ends, is not waited for. Answers may take as long as they like: streams do. */
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
      const why =
        error.code === 'EADDRINUSE'
          ? `${await holderOf(where)} has it; set [server] bind to another port, or to port 0 for a free one`
          : error.message;
      reject(new SubstratError('config', `Cannot listen on ${place}: ${why}.`, { cause: error }));
    });
    server.listen(where, () => {
      // A connection that could not be accepted, as when too many files are open, is the other side's to try again.
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

/** What `Host` may say. On a wildcard address we cannot know our names, and only loopback ones count. */
export function hostNames(host: string, port: number): string[] {
  return [...new Set([bracketed(host), '127.0.0.1', 'localhost', '[::1]'])].map((name) => `${name}:${port}`);
}

export function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

/** Who listens there already, as far as it tells. */
async function holderOf(where: { path: string } | { host: string; port: number }): Promise<string> {
  if ('path' in where) return 'another program';
  try {
    const url = `http://${bracketed(where.host)}:${where.port}/health`;
    const answer = await fetch(url, { signal: AbortSignal.timeout(HEALTH_MS) });
    const { name = null } = parseBounded(await readBytes(answer, MAX_HEALTH)) as { name?: string | null };
    if (name === 'daemon') return 'a daemon of Substrat';
    if (name === 'ctx') return 'another `ctx serve mcp`';
  } catch {
    // Whatever it is, it does not say.
  }
  return 'another program';
}

const HEALTH_MS = 1000;
const MAX_HEALTH = 10_000;
