import { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { shorten } from '../core/agent.ts';
import { type ErrorCode, SubstratError } from '../core/errors.ts';
import type { Api } from './api.ts';
import { agentRoutes } from './routes/agents.ts';
import { messageRoutes } from './routes/messages.ts';
import { runRoutes } from './routes/runs.ts';

export type { AgentShown } from './routes/agents.ts';

/** One place for the status of every code. */
const STATUS: Readonly<Record<ErrorCode, 400 | 403 | 404 | 408 | 409 | 410 | 413 | 422 | 429 | 500 | 503>> = {
  bad_request: 400,
  cap_reached: 422,
  config: 500,
  conflict: 409,
  fenced: 409,
  forbidden: 403,
  has_children: 409,
  home_in_use: 409,
  internal: 500,
  name_taken: 409,
  not_found: 404,
  not_running: 503,
  rate_limited: 429,
  schema_too_new: 500,
  store: 503,
  terminated: 410,
  timeout: 408,
  too_large: 413,
  unsupported: 422,
};

const MAX_BODY = 8 * 1024 * 1024;

export function createApp(api: Api): Hono {
  const app = new Hono();
  app.use(bodyLimit({ maxSize: MAX_BODY, onError: refuseBody }));
  app.use((c, next) => {
    // No name, id or cursor of ours has one, and PostgreSQL knows none.
    if (c.req.url.includes('%00')) throw new SubstratError('bad_request', 'A URL must not contain NUL characters.');
    return next();
  });
  app.get('/health', (c) => c.json({ status: 'ok' }));
  app.get('/api/status', (c) =>
    c.json({ pid: process.pid, home: api.home.path, version: api.version, sandbox: api.sandboxMode }),
  );
  app.route('/api/agents', agentRoutes(api));
  app.route('/api/messages', messageRoutes(api));
  app.route('/api/runs', runRoutes(api));
  app.notFound((c) =>
    c.json({ error: { code: 'not_found', message: `There is no ${c.req.method} ${shorten(c.req.path)}.` } }, 404),
  );
  app.onError((error, c) => {
    const known = toSubstratError(error);
    // Whoever left in the middle of a request has broken it off.
    if (known.code === 'internal' && !c.req.raw.signal.aborted)
      api.log.error({ error: error.stack }, 'a request failed');
    return c.json({ error: { code: known.code, message: known.message } }, STATUS[known.code]);
  });
  return app;
}

function toSubstratError(error: unknown): SubstratError {
  if (error instanceof SubstratError) return error;
  return new SubstratError('internal', 'Something went wrong inside Substrat; its log has the details.');
}

function refuseBody(): never {
  throw new SubstratError('too_large', `A body may have at most ${MAX_BODY} bytes.`);
}
