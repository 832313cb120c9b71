import type { AddressInfo } from 'node:net';
import type { Store } from '../store/store.ts';
import type { Door } from './access.ts';
import type { KnowledgeDoor } from './api.ts';
import { createBase } from './base.ts';
import { bracketed, closeServers, createServer, hostNames, listen } from './listener.ts';
import { describe, type Router } from './router.ts';
import { knowledgeRoutes } from './routes/knowledge.ts';
import { personaRoutes } from './routes/personas.ts';
import { Health } from './schemas.ts';

export interface KnowledgeService {
  readonly store: Store;
  readonly log: { error(details: object, message: string): void };
  readonly knowledgeDoor: KnowledgeDoor;
}

const health = describe(
  { method: 'get', path: '/health', summary: 'Health check; does not need a token.' },
  { status: 200, description: 'The server is running.', schema: Health },
);

/** Serves only the knowledge base. Without a token, everybody who can reach the address has access. */
export async function serveKnowledge(
  service: KnowledgeService,
  { bind, token }: { readonly bind: { readonly host: string; readonly port: number }; readonly token: string | null },
) {
  let names: readonly string[] = [];
  const server = createServer(createKnowledgeApp(service, { kind: 'tcp', hosts: () => names, token }));
  await listen(server, bind);
  const { port } = server.address() as AddressInfo;
  names = hostNames(bind.host, port);
  return { url: `http://${bracketed(bind.host)}:${port}`, close: () => closeServers([server]) };
}

function createKnowledgeApp(service: KnowledgeService, door: Door): Router {
  const app = createBase(service, door);
  app.openapi(health, (c) => c.json({ status: 'ok' as const, name: 'ctx' as const }, 200));
  app.route('/', knowledgeRoutes(service.knowledgeDoor));
  app.route('/', personaRoutes(service.knowledgeDoor.personas));
  return app;
}
