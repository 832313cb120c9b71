import type { MiddlewareHandler } from 'hono';
import { routePath } from 'hono/route';
import { type Tracer, within } from '../core/tracing.ts';
import type { Env } from './access.ts';

/** A span around every request that changes something. Its messages, and the runs they start, are children of it. */
export function traceRequests(tracer: Tracer): MiddlewareHandler<Env> {
  return (c, next) => {
    const { method } = c.req;
    if (method === 'GET' || method === 'HEAD') return next();
    const { traceparent } = c.env.incoming.headers;
    const parent = typeof traceparent === 'string' ? traceparent : null;
    return within(tracer.start(method, { 'http.request.method': method }, { parent, server: true }), async (span) => {
      await next();
      // The route pattern, without the names and ids of this request.
      const route = routePath(c, -1);
      span.rename(`${method} ${route}`);
      span.set({ 'http.route': route, 'http.response.status_code': c.res.status });
      if (c.res.status >= 500) span.fail(String(c.res.status));
    });
  };
}
