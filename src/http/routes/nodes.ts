import { z } from '@hono/zod-openapi';
import { ownerOnly } from '../access.ts';
import type { Api } from '../api.ts';
import { createRouter, describe, type Router } from '../router.ts';
import { label, Node, pageOf } from '../schemas.ts';
import { showTime } from '../shown.ts';

const Adoption = z.strictObject({ force: z.boolean().default(false) }).openapi('Adoption');
const Adopted = z
  .strictObject({ status: z.literal('adopted'), id: z.string(), agents: z.int(), workspaces: z.int() })
  .openapi('Adopted');

const list = describe(
  { method: 'get', path: '/', summary: 'List the daemons that have used this store, and those that agents belong to.' },
  { status: 200, description: 'All of them.', schema: pageOf(Node) },
);
const adopt = describe(
  {
    method: 'post',
    path: '/{id}/adopt',
    summary: 'Take over the agents of a node that no longer runs.',
    request: {
      params: z.strictObject({ id: label }),
      body: { required: true, content: { 'application/json': { schema: Adoption } } },
    },
  },
  { status: 200, description: 'The agents now belong to this daemon.', schema: Adopted },
  { 404: 'There is no such node.', 409: 'The node is alive.' },
);

export function nodeRoutes(api: Api): Router {
  const routes = createRouter();
  routes.openapi(list, async (c) => {
    ownerOnly(c.get('caller'));
    const items = (await api.listNodes()).map(({ seenAt, ...node }) => ({
      ...node,
      seenAt: seenAt === null ? null : showTime(seenAt),
    }));
    return c.json({ items, nextCursor: null }, 200);
  });
  routes.openapi(adopt, async (c) => {
    ownerOnly(c.get('caller'));
    const { id } = c.req.valid('param');
    const adopted = await api.adoptNode({ id, force: c.req.valid('json').force });
    return c.json({ status: 'adopted' as const, id, ...adopted }, 200);
  });
  return routes;
}
