import { SubstratError } from '../core/errors.ts';
import { type Door, ownerOnly } from './access.ts';
import type { Api } from './api.ts';
import { createBase } from './base.ts';
import { eventName, eventSchemas } from './events.ts';
import type { EventHub } from './hub.ts';
import type { PageFiles } from './page-files.ts';
import { describe, type Router } from './router.ts';
import { agentRoutes } from './routes/agents.ts';
import { channelRoutes } from './routes/channels.ts';
import { eventRoutes } from './routes/events.ts';
import { knowledgeRoutes } from './routes/knowledge.ts';
import { memoryRoutes } from './routes/memory.ts';
import { messageRoutes } from './routes/messages.ts';
import { nodeRoutes } from './routes/nodes.ts';
import { passageRoutes } from './routes/passages.ts';
import { peopleRoutes } from './routes/people.ts';
import { personaRoutes } from './routes/personas.ts';
import { promptRoutes } from './routes/prompt.ts';
import { runRoutes } from './routes/runs.ts';
import { signInRoutes } from './routes/sign-in.ts';
import { tokenRoutes } from './routes/tokens.ts';
import { usageRoutes } from './routes/usage.ts';
import { workspaceRoutes } from './routes/workspaces.ts';
import { Event, Health, Status } from './schemas.ts';
import type { SignInCodes } from './sign-in.ts';
import { traceRequests } from './traced.ts';

const health = describe(
  { method: 'get', path: '/health', summary: 'Health check; does not need a token.' },
  { status: 200, description: 'The server is running.', schema: Health },
);
const status = describe(
  { method: 'get', path: '/api/status', summary: 'Status of this daemon.' },
  { status: 200, description: 'The status.', schema: Status },
);

/** What the doors of one daemon share. */
export interface Site {
  readonly hub: EventHub;
  readonly files: PageFiles;
  readonly codes: SignInCodes;
  /** Where people open the page; null if the daemon does not serve TCP. */
  readonly address: () => string | null;
}

export function createApp(api: Api, site: Site, door: Omit<Door, 'isOpen'>): Router {
  const { hub, files } = site;
  const isOpen = (method: string, path: string): boolean =>
    method === 'POST' ? path === '/api/sign-in' : (method === 'GET' || method === 'HEAD') && files.has(path);
  const app = createBase(api, { ...door, isOpen });
  // After authentication: a stranger's `traceparent` is not trusted.
  if (api.tracer) app.use(traceRequests(api.tracer));
  app.openapi(health, (c) => {
    const problem = api.store.problem();
    if (problem !== null) throw new SubstratError('store', problem);
    return c.json({ status: 'ok' as const, name: 'daemon' as const }, 200);
  });
  app.openapi(status, async (c) => {
    ownerOnly(c.get('caller'));
    return c.json(await api.status(), 200);
  });
  app.route('/api/agents', agentRoutes(api));
  app.route('/api/agents', memoryRoutes(api, 'agent'));
  app.route('/api/agents', passageRoutes(api));
  app.route('/api/agents', promptRoutes(api));
  app.route('/api/memory', memoryRoutes(api, 'owner'));
  app.route('/api/messages', messageRoutes(api));
  app.route('/api/runs', runRoutes(api));
  app.route('/api/usage', usageRoutes(api));
  app.route('/api/channels', channelRoutes(api));
  app.route('/api/events', eventRoutes(api, hub));
  app.route('/api/tokens', tokenRoutes(api));
  app.route('/api/workspaces', workspaceRoutes(api));
  app.route('/api/nodes', nodeRoutes(api));
  app.route('/api', peopleRoutes(api));
  app.route('/api', signInRoutes(api, site));
  app.route('/', knowledgeRoutes(api.knowledgeDoor));
  app.route('/', personaRoutes(api.knowledgeDoor.personas));
  files.serve(app);
  app.openAPIRegistry.register('Event', Event);
  for (const [type, schema] of eventSchemas()) app.openAPIRegistry.register(eventName(type), schema);
  app.openAPIRegistry.registerComponent('securitySchemes', 'token', { type: 'http', scheme: 'bearer' });
  app.doc31('/api/openapi.json', {
    openapi: '3.1.0',
    info: { title: 'Substrat', version: api.version, license: { name: 'MIT' } },
    security: [{ token: [] }],
  });
  return app;
}
