import { bodyLimit } from 'hono/body-limit';
import { HTTPException } from 'hono/http-exception';
import { shorten } from '../core/agent.ts';
import { type ErrorCode, SubstratError } from '../core/errors.ts';
import { checkAccess, type Door, ownerOnly } from './access.ts';
import type { Api } from './api.ts';
import { EVENTS, eventName } from './events.ts';
import type { EventHub } from './hub.ts';
import { createRouter, describe, type Router } from './router.ts';
import { agentRoutes } from './routes/agents.ts';
import { channelRoutes } from './routes/channels.ts';
import { eventRoutes } from './routes/events.ts';
import { memoryRoutes } from './routes/memory.ts';
import { messageRoutes } from './routes/messages.ts';
import { passageRoutes } from './routes/passages.ts';
import { peopleRoutes } from './routes/people.ts';
import { promptRoutes } from './routes/prompt.ts';
import { runRoutes } from './routes/runs.ts';
import { tokenRoutes } from './routes/tokens.ts';
import { usageRoutes } from './routes/usage.ts';
import { workspaceRoutes } from './routes/workspaces.ts';
import { Event, Health, Status } from './schemas.ts';
import { traceRequests } from './traced.ts';

/** One place for the status of every code; those that are not here come from elsewhere, and would be a fault of ours. */
const STATUS: Readonly<Partial<Record<ErrorCode, 400 | 401 | 403 | 404 | 409 | 410 | 412 | 413 | 422 | 503>>> = {
  bad_request: 400,
  cap_reached: 422,
  conflict: 409,
  forbidden: 403,
  gone: 410,
  name_taken: 409,
  not_found: 404,
  precondition_failed: 412,
  store: 503,
  terminated: 410,
  too_large: 413,
  unauthorized: 401,
  unsupported: 422,
};

const MAX_BODY = 8 * 1024 * 1024;
const countBody = bodyLimit({ maxSize: MAX_BODY, onError: refuseBody });

const health = describe(
  { method: 'get', path: '/health', summary: 'Whether the daemon answers; needs no token.' },
  { status: 200, description: 'It does.', schema: Health },
);
const status = describe(
  { method: 'get', path: '/api/status', summary: 'About this daemon.' },
  { status: 200, description: 'Where and what it is.', schema: Status },
);

export function createApp(api: Api, hub: EventHub, door: Door): Router {
  const app = createRouter();
  app.onError((error, c) => {
    const known = toSubstratError(error);
    // Whoever left in the middle of a request has broken it off.
    if (known.code === 'internal' && !c.req.raw.signal.aborted) {
      api.log.error({ error: error.stack }, 'a request failed');
    }
    return c.json({ error: { code: known.code, message: known.message } }, STATUS[known.code] ?? 500);
  });
  app.notFound((c) =>
    c.json({ error: { code: 'not_found', message: `There is no ${c.req.method} ${shorten(c.req.path)}.` } }, 404),
  );
  app.use(async (c, next) => {
    await checkAccess(c, api.store, door);
    const { url, headers } = c.env.incoming;
    // No name, id or cursor of ours has one, and PostgreSQL knows none.
    if (url?.includes('%00')) throw new SubstratError('bad_request', 'A URL must not contain NUL characters.');
    // To count a body costs time, and most say how long they are.
    const length = headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : null;
    return length === null || length > MAX_BODY ? countBody(c, next) : next();
  });
  // Behind the check of who calls: a stranger's `traceparent` is nobody's.
  if (api.tracer) app.use(traceRequests(api.tracer));
  app.openapi(health, (c) => c.json({ status: 'ok' as const }, 200));
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
  app.route('/api', peopleRoutes(api));
  app.openAPIRegistry.register('Event', Event);
  for (const [type, schema] of EVENTS) app.openAPIRegistry.register(eventName(type), schema);
  app.openAPIRegistry.registerComponent('securitySchemes', 'token', { type: 'http', scheme: 'bearer' });
  app.doc31('/api/openapi.json', {
    openapi: '3.1.0',
    info: { title: 'Substrat', version: api.version, license: { name: 'MIT' } },
    security: [{ token: [] }],
  });
  return app;
}

function toSubstratError(error: unknown): SubstratError {
  if (error instanceof SubstratError) return error;
  // What the framework refuses before our schemas see it.
  if (error instanceof HTTPException && error.status < 500) {
    return new SubstratError('bad_request', 'The body must be JSON, and content-type: application/json must say so.');
  }
  return new SubstratError('internal', 'Something went wrong inside Substrat; its log has the details.');
}

function refuseBody(): never {
  throw new SubstratError('too_large', `A body may have at most ${MAX_BODY} bytes.`);
}
