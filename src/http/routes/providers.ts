import { ownerOnly } from '../access.ts';
import type { Api } from '../api.ts';
import { createRouter, describe, type Router } from '../router.ts';
import { Provider, pageOf } from '../schemas.ts';
import { showTime } from '../shown.ts';

const list = describe(
  {
    method: 'get',
    path: '/',
    summary: 'List the providers of this node, with versions, logins and limits as far as they are known.',
  },
  { status: 200, description: 'All of them. Services are not called.', schema: pageOf(Provider) },
);

export function providerRoutes(api: Api): Router {
  const routes = createRouter();
  routes.openapi(list, async (c) => {
    ownerOnly(c.get('caller'));
    const items = (await api.listProviders()).map(({ accounts, limits, pricing, ...rest }) => ({
      ...rest,
      accounts: [...accounts],
      pricing: { ...pricing, models: { ...pricing.models } },
      limits: limits.map(({ until, ...limit }) => ({ ...limit, until: showTime(until) })),
    }));
    return c.json({ items, nextCursor: null }, 200);
  });
  return routes;
}
