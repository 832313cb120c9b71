import type { AddressInfo } from 'node:net';
import type { Store } from '../store/store.ts';
import type { Door } from './access.ts';
import type { KnowledgeDoor } from './api.ts';
import { createBase } from './base.ts';
import { bracketed, closeServers, createServer, hostNames, listen } from './listener.ts';
import { describe, type Router } from './router.ts';
import { answerRoutes } from './routes/answer.ts';
import { knowledgeRoutes } from './routes/knowledge.ts';
import { personaRoutes } from './routes/personas.ts';
import { Health } from './schemas.ts';

export interface KnowledgeService {
  readonly store: Store;
  readonly log: { error(details: object, message: string): void };
  readonly knowledgeDoor: KnowledgeDoor;
  readonly version: string;
}

interface ServedAt {
  readonly bind: { readonly host: string; readonly port: number };
  readonly token: string | null;
  /** Foreign origins whose pages may use it. */
  readonly origins: readonly string[];
  /** A socket in the home, for the owner's `ctx search`; null for none. */
  readonly socket: string | null;
}

const health = describe(
  { method: 'get', path: '/health', summary: 'Health check; does not need a token.', security: [] },
  { status: 200, description: 'The server is running.', schema: Health },
);

/** Serves only the knowledge base. Without a token, everybody who can reach the address has access. */
export async function serveKnowledge(service: KnowledgeService, { bind, token, origins, socket }: ServedAt) {
  let names: readonly string[] = [];
  const server = createServer(createKnowledgeApp(service, { kind: 'tcp', hosts: () => names, token, origins }));
  await listen(server, bind);
  const { port } = server.address() as AddressInfo;
  names = hostNames(bind.host, port);
  const servers = [server];
  if (socket !== null) {
    const own = createServer(createKnowledgeApp(service, { kind: 'trusted', hosts: () => [], token: null }));
    // The path may be too long for a socket. Then `ctx search` opens the store itself.
    await listen(own, { path: socket }).then(
      () => servers.push(own),
      () => {},
    );
  }
  return { url: `http://${bracketed(bind.host)}:${port}`, close: () => closeServers(servers) };
}

function createKnowledgeApp(service: KnowledgeService, door: Door): Router {
  const app = createBase(service, door);
  app.openapi(health, (c) => c.json({ status: 'ok' as const, name: 'ctx' as const, version: service.version }, 200));
  app.route('/', knowledgeRoutes(service.knowledgeDoor));
  app.route('/', personaRoutes(service.knowledgeDoor.personas));
  const { answer } = service.knowledgeDoor;
  if (door.kind === 'trusted' && answer !== null) app.route('/', answerRoutes(answer));
  return app;
}
