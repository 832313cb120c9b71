import type { Context } from 'hono';
import type { Door, Env } from './access.ts';

const EXPOSED = 'ETag, WWW-Authenticate, Allow, Mcp-Session-Id';
const DAY = '86400';

/** Answers of requests from the pages of `[server] origins` may be read by these pages. */
export function allowOrigin(c: Context<Env, string>, { origins = [] }: Door): void {
  const origin = c.req.header('origin');
  if (origins.length > 0) c.res.headers.append('vary', 'Origin');
  if (origin === undefined || !origins.includes(origin.toLowerCase())) return;
  c.res.headers.set('access-control-allow-origin', origin);
  c.res.headers.set('access-control-expose-headers', EXPOSED);
}

/** A browser asks before it sends a token or JSON, without either. Null for any other request. */
export function preflight(c: Context<Env, string>, { origins = [] }: Door): Response | null {
  const method = c.req.header('access-control-request-method');
  const origin = c.req.header('origin')?.toLowerCase();
  if (c.req.method !== 'OPTIONS' || !method || origin === undefined || !origins.includes(origin)) return null;
  c.res.headers.set('access-control-allow-methods', 'GET, POST, PUT, PATCH, DELETE');
  c.res.headers.set('access-control-allow-headers', c.req.header('access-control-request-headers') ?? '');
  c.res.headers.set('access-control-max-age', DAY);
  return c.body(null, 204);
}
