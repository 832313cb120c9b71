import { SubstratError } from '../core/errors.ts';
import { type Door, ownerOnly } from './access.ts';
import type { Api } from './api.ts';
import { createBase } from './base.ts';
import { eventName, eventSchemas } from './events.ts';
import type { EventHub } from './hub.ts';
import type { Latency } from './latency.ts';
import { withOperationIds } from './operations.ts';
import type { PageFiles } from './page-files.ts';
import type { Pairings } from './pairings.ts';
import { describe, type Router } from './router.ts';
import { agentRoutes } from './routes/agents.ts';
import { answerRoutes } from './routes/answer.ts';
import { applyRoutes } from './routes/apply.ts';
import { budgetRoutes } from './routes/budgets.ts';
import { channelRoutes } from './routes/channels.ts';
import { eventRoutes } from './routes/events.ts';
import { fileRoutes } from './routes/files.ts';
import { healthRoutes } from './routes/health.ts';
import { knowledgeRoutes } from './routes/knowledge.ts';
import { memoryRoutes } from './routes/memory.ts';
import { messageRoutes } from './routes/messages.ts';
import { metricsRoutes } from './routes/metrics.ts';
import { nodeRoutes } from './routes/nodes.ts';
import { pairingRoutes } from './routes/pairings.ts';
import { passageRoutes } from './routes/passages.ts';
import { peopleRoutes } from './routes/people.ts';
import { personaRoutes } from './routes/personas.ts';
import { promptRoutes } from './routes/prompt.ts';
import { providerRoutes } from './routes/providers.ts';
import { questionRoutes } from './routes/questions.ts';
import { queuedRoutes } from './routes/queued.ts';
import { reportRoutes } from './routes/report.ts';
import { requestRoutes } from './routes/requests.ts';
import { runRoutes } from './routes/runs.ts';
import { scheduleRoutes } from './routes/schedules.ts';
import { searchRoutes } from './routes/search.ts';
import { settingsRoutes } from './routes/settings.ts';
import { signInRoutes } from './routes/sign-in.ts';
import { tokenRoutes } from './routes/tokens.ts';
import { traceRoutes } from './routes/trace.ts';
import { usageRoutes } from './routes/usage.ts';
import { workspaceRoutes } from './routes/workspaces.ts';
import { Event, Health, Status } from './schemas.ts';
import type { SignInCodes } from './sign-in.ts';
import { traceRequests } from './traced.ts';

const health = describe(
  { method: 'get', path: '/health', summary: 'Health check; does not need a token.', security: [] },
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
  readonly pairings: Pairings;
  readonly latency: Latency;
  /** Where people open the page; null if the daemon does not serve TCP. */
  readonly address: () => string | null;
}

/** What a browser sends before it has a token. */
const OPEN_POSTS = new Set(['/api/sign-in', '/api/pairings/claim', '/api/pairings/redeem']);

export function createApp(api: Api, site: Site, door: Omit<Door, 'isOpen'>): Router {
  const { hub, files, latency } = site;
  const isOpen = (method: string, path: string): boolean =>
    method === 'POST' ? OPEN_POSTS.has(path) : (method === 'GET' || method === 'HEAD') && files.has(path);
  const app = createBase(api, { ...door, isOpen });
  app.use(latency.measure);
  // After authentication: a stranger's `traceparent` is not trusted.
  if (api.tracer) app.use(traceRequests(api.tracer));
  app.openapi(health, (c) => {
    const problem = api.store.problem();
    if (problem !== null) throw new SubstratError('store', problem);
    return c.json({ status: 'ok' as const, name: 'daemon' as const, version: api.version }, 200);
  });
  app.openapi(status, async (c) => {
    ownerOnly(c.get('caller'));
    return c.json(await api.status(), 200);
  });
  app.route('/api/agents', agentRoutes(api));
  app.route('/api/agents', settingsRoutes(api));
  app.route('/api/agents', memoryRoutes(api, 'agent'));
  app.route('/api/agents', passageRoutes(api));
  app.route('/api/agents', promptRoutes(api));
  app.route('/api/agents', fileRoutes(api));
  app.route('/api/apply', applyRoutes(api));
  app.route('/api/memory', memoryRoutes(api, 'owner'));
  app.route('/api/messages', searchRoutes(api));
  app.route('/api/messages', messageRoutes(api));
  app.route('/api/runs', runRoutes(api));
  app.route('/api/runs', traceRoutes(api));
  app.route('/api/questions', questionRoutes(api));
  app.route('/api/requests', requestRoutes(api));
  app.route('/api/budgets', budgetRoutes(api));
  app.route('/api/usage', usageRoutes(api));
  app.route('/api/channels', channelRoutes(api));
  app.route('/api/channels', queuedRoutes(api));
  app.route('/api/events', eventRoutes(api, hub));
  app.route('/api/report', reportRoutes(api));
  app.route('/api/schedules', scheduleRoutes(api));
  app.route('/api/tokens', tokenRoutes(api));
  app.route('/api/workspaces', workspaceRoutes(api));
  app.route('/api/nodes', nodeRoutes(api));
  app.route('/api/providers', providerRoutes(api));
  app.route('/api', healthRoutes(api));
  app.route('/api', peopleRoutes(api));
  app.route('/api', signInRoutes(api, site));
  app.route('/api/pairings', pairingRoutes(api, site));
  app.route('/', knowledgeRoutes(api.knowledgeDoor));
  app.route('/', personaRoutes(api.knowledgeDoor.personas));
  const { answer } = api.knowledgeDoor;
  if (door.kind === 'trusted' && answer !== null) app.route('/', answerRoutes(answer));
  app.route('/metrics', metricsRoutes(api, latency));
  files.serve(app);
  app.openAPIRegistry.register('Event', Event);
  for (const [type, schema] of eventSchemas()) app.openAPIRegistry.register(eventName(type), schema);
  app.openAPIRegistry.registerComponent('securitySchemes', 'token', { type: 'http', scheme: 'bearer' });
  app.get('/api/openapi.json', (c) =>
    c.json(
      withOperationIds(
        app.getOpenAPI31Document({
          openapi: '3.1.0',
          info: { title: 'Substrat', version: api.version, license: { name: 'MIT' } },
          servers: [{ url: site.address() ?? '/' }],
          security: [{ token: [] }],
        }),
      ),
    ),
  );
  return app;
}
