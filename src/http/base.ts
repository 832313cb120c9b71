import type { Context } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { type ErrorCode, SubstratError, toSubstratError } from '../core/errors.ts';
import { shorten } from '../core/text.ts';
import type { Store } from '../store/store.ts';
import { checkAccess, checkHost, type Door, type Env } from './access.ts';
import { allowedMethods } from './allowed.ts';
import { boundBody } from './body.ts';
import { allowOrigin, preflight } from './cors.ts';
import { createRouter, type Router } from './router.ts';

/** The only place that maps codes to statuses. Codes missing here never reach HTTP; if one does, it is a bug. */
const STATUS: Readonly<
  Partial<Record<ErrorCode, 400 | 401 | 403 | 404 | 408 | 409 | 410 | 412 | 413 | 422 | 500 | 503 | 504>>
> = {
  agent_error: 500,
  bad_request: 400,
  cap_reached: 422,
  conflict: 409,
  embeddings_disabled: 400,
  forbidden: 403,
  gone: 410,
  name_taken: 409,
  node_silent: 503,
  not_configured: 400,
  not_found: 404,
  outcome_unknown: 504,
  precondition_failed: 412,
  store: 503,
  terminated: 410,
  timeout: 408,
  too_large: 413,
  tool_error: 500,
  unauthorized: 401,
  unsupported: 422,
};

/** What every HTTP app shares: access, body limits, and the form of errors. */
export function createBase(
  {
    store,
    log,
    clock = Date.now,
  }: {
    readonly store: Store;
    readonly log: { error(details: object, message: string): void };
    readonly clock?: () => number;
  },
  door: Door,
): Router {
  const app = createRouter();
  app.onError((error, c: Context<Env, string>) => {
    const known = toRefusal(error);
    // A client that disconnected aborted its own request.
    if (known.code === 'internal' && !c.req.raw.signal.aborted) {
      log.error({ error: error.stack }, 'a request failed');
    }
    // RFC 9110 requires it, and MCP clients look for it.
    if (known.code === 'unauthorized') c.header('www-authenticate', 'Bearer realm="substrat"');
    return c.json({ error: { code: known.code, message: known.message } }, STATUS[known.code] ?? 500);
  });
  app.notFound((c: Context<Env, string>) => {
    const { method, path } = c.req;
    const allowed = allowedMethods(app, path);
    const message = `There is no ${method} ${shorten(path)}.`;
    if (allowed.length === 0) return c.json({ error: { code: 'not_found', message } }, 404);
    const list = allowed.join(', ');
    const error = { code: 'method_not_allowed', message: `${message} It takes ${list}.` };
    return c.json({ error }, 405, { allow: list });
  });
  app.use(async (c, next) => {
    if (door.kind === 'tcp') allowOrigin(c, door);
    checkHost(c.env.incoming.headers, door);
    // A browser asks before it sends the request, without a token.
    const answer = preflight(c, door);
    if (answer) return answer;
    await checkAccess(c, { store, clock }, door);
    const { url } = c.env.incoming;
    // No name, id or cursor contains NUL, and PostgreSQL rejects it.
    if (url?.includes('%00')) throw new SubstratError('bad_request', 'A URL must not contain NUL characters.');
    try {
      await boundBody(c);
    } catch (error) {
      if (c.req.path !== '/mcp' || !(error instanceof SubstratError)) throw error;
      return c.json(asJsonRpc(error), STATUS[error.code] ?? 500);
    }
    return next();
  });
  return app;
}

function toRefusal(error: unknown): SubstratError {
  // Errors of the framework before our schemas run.
  if (error instanceof HTTPException && error.status < 500) {
    return new SubstratError('bad_request', 'The body must be JSON with content-type: application/json.');
  }
  return toSubstratError(error);
}

/** An MCP client only understands JSON-RPC errors. */
function asJsonRpc({ message }: SubstratError): object {
  return { jsonrpc: '2.0', id: null, error: { code: -32600, message } };
}
