import { z } from '@hono/zod-openapi';
import { ownerOnly } from '../access.ts';
import type { Api } from '../api.ts';
import { ApplyItem, ApplyWish } from '../apply-schemas.ts';
import { createRouter, describe, type Router } from '../router.ts';

const apply = describe(
  {
    method: 'post',
    path: '/',
    summary: 'Read the configuration again and make members and channels what it says.',
    request: { body: { required: true, content: { 'application/json': { schema: ApplyWish } } } },
  },
  {
    status: 200,
    description: 'Every difference: what was created and changed, and what was left.',
    schema: z.strictObject({ items: z.array(ApplyItem) }),
  },
  { 404: 'A channel names a member that does not exist.', 422: 'The configuration is not valid.' },
);

export function applyRoutes(api: Api): Router {
  const routes = createRouter();
  routes.openapi(apply, async (c) => {
    ownerOnly(c.get('caller'));
    const items = await api.apply(c.req.valid('json'));
    return c.json({ items: [...items] }, 200);
  });
  return routes;
}
