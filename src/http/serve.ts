import { chmod, rm } from 'node:fs/promises';
import type { Server } from 'node:http';
import { createAdaptorServer } from '@hono/node-server';
import type { Api } from './api.ts';
import { createApp } from './app.ts';

/** Serves the API to the owner, on a socket that is the owner's only. */
export async function serveApi(api: Api, path: string): Promise<Server> {
  const server = createAdaptorServer({ fetch: createApp(api).fetch }) as Server;
  // The caller holds the home: a socket that is there belongs to a daemon that is dead.
  await rm(path, { force: true });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, () => resolve());
  });
  await chmod(path, 0o600);
  return server;
}
