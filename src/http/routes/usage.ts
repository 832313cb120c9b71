import { z } from '@hono/zod-openapi';
import { ownerOnly } from '../access.ts';
import type { Api } from '../api.ts';
import { createRouter, describe, type Router } from '../router.ts';
import { instant, pageOf, Usage } from '../schemas.ts';

const DAY = 86_400_000;
const MOST = 1000;

const list = describe(
  {
    method: 'get',
    path: '/',
    summary: 'Get the number of turns, tokens and costs by agent, tree or day.',
    request: {
      query: z.strictObject({
        by: z.enum(['agent', 'tree', 'day']).default('agent'),
        since: instant.optional(),
        until: instant.optional(),
      }),
    },
  },
  { status: 200, description: 'Highest cost first; by day, latest first.', schema: pageOf(Usage) },
);

export function usageRoutes(api: Api): Router {
  const routes = createRouter();
  routes.openapi(list, async (c) => {
    ownerOnly(c.get('caller'));
    const { by, since, until } = c.req.valid('query');
    const window = {
      since: since === undefined ? 0 : Date.parse(since),
      until: until === undefined ? Number.MAX_SAFE_INTEGER : Date.parse(until),
    };
    const rows = await api.store.read((tx) => tx.runs.listUsage({ by, ...window, limit: MOST }), {
      long: true,
      signal: c.req.raw.signal,
    });
    const items = rows.map(({ key, ...sums }) => ({ of: by === 'day' ? dayOf(key) : key, ...sums }));
    return c.json({ items, nextCursor: null }, 200);
  });
  return routes;
}

/** The argument is the number of days since 1970. */
function dayOf(number: string): string {
  return new Date(Number(number) * DAY).toISOString().slice(0, 10);
}
