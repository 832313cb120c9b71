import type { Context } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { type ErrorCode, SubstratError, toSubstratError } from '../core/errors.ts';
import { shorten } from '../core/text.ts';
import type { Store } from '../store/store.ts';
import { checkAccess, type Door, type Env } from './access.ts';
import { boundBody } from './body.ts';
import { createRouter, type Router } from './router.ts';

/** One place for the status of every code; those that are not here come from elsewhere, and would be a fault of ours. */
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

/** What every door has: who may come in, how large a body may be, and what an error looks like. */
export function createBase(
  { store, log }: { readonly store: Store; readonly log: { error(details: object, message: string): void } },
  door: Door,
): Router {
  const app = createRouter();
  app.onError((error, c: Context<Env, string>) => {
    const known = toRefusal(error);
    // Whoever left in the middle of a request has broken it off.
    if (known.code === 'internal' && !c.req.raw.signal.aborted) {
      log.error({ error: error.stack }, 'a request failed');
    }
    return c.json({ error: { code: known.code, message: known.message } }, STATUS[known.code] ?? 500);
  });
  app.notFound((c: Context<Env, string>) =>
    c.json({ error: { code: 'not_found', message: `There is no ${c.req.method} ${shorten(c.req.path)}.` } }, 404),
  );
  app.use(async (c, next) => {
    await checkAccess(c, store, door);
    const { url } = c.env.incoming;
    // No name, id or cursor of ours has one, and PostgreSQL knows none.
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
  // What the framework refuses before our schemas see it.
  if (error instanceof HTTPException && error.status < 500) {
    return new SubstratError('bad_request', 'The body must be JSON, and content-type: application/json must say so.');
  }
  return toSubstratError(error);
}

/** A client of MCP reads nothing else. */
function asJsonRpc({ message }: SubstratError): object {
  return { jsonrpc: '2.0', id: null, error: { code: -32600, message } };
}
