import { z } from '@hono/zod-openapi';
import { ownerOnly } from '../access.ts';
import type { Api, ShownNode } from '../api.ts';
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

const ref = z.strictObject({ id: label.openapi({ description: 'Name or id of the node.' }) });
const NONE = 'There is no such node.';
const Removed = z.strictObject({ status: z.literal('removed'), id: z.string() }).openapi('NodeRemoved');
const get = describe(
  { method: 'get', path: '/{id}', summary: 'Get a node.', request: { params: ref } },
  { status: 200, description: 'The node.', schema: Node },
  { 404: NONE },
);
const remove = describe(
  {
    method: 'delete',
    path: '/{id}',
    summary: 'Remove a node that no longer runs and has no agents.',
    request: { params: ref },
  },
  { status: 200, description: 'Removed.', schema: Removed },
  { 404: NONE, 409: 'It runs, or has agents.' },
);

const drain = describe(
  {
    method: 'post',
    path: '/{id}/drain',
    summary: 'Let a node finish its runs and start nothing new. Agents that have nothing on it move to other nodes.',
    request: { params: ref },
  },
  { status: 200, description: 'The node.', schema: Node },
  { 404: NONE, 409: 'It never registered.' },
);
const undrain = describe(
  { method: 'post', path: '/{id}/undrain', summary: 'Let a drained node start runs again.', request: { params: ref } },
  { status: 200, description: 'The node.', schema: Node },
  { 404: NONE, 409: 'It never registered.' },
);

export function nodeRoutes(api: Api): Router {
  const routes = createRouter();
  routes.openapi(list, async (c) => {
    ownerOnly(c.get('caller'));
    return c.json({ items: (await api.listNodes()).map(showNode), nextCursor: null }, 200);
  });
  routes.openapi(get, async (c) => {
    ownerOnly(c.get('caller'));
    return c.json(showNode(await api.findNode(c.req.valid('param').id)), 200);
  });
  routes.openapi(remove, async (c) => {
    ownerOnly(c.get('caller'));
    const { id } = await api.removeNode(c.req.valid('param').id);
    return c.json({ status: 'removed' as const, id }, 200);
  });
  routes.openapi(drain, async (c) => {
    ownerOnly(c.get('caller'));
    return c.json(showNode(await api.setDraining(c.req.valid('param').id, true)), 200);
  });
  routes.openapi(undrain, async (c) => {
    ownerOnly(c.get('caller'));
    return c.json(showNode(await api.setDraining(c.req.valid('param').id, false)), 200);
  });
  routes.openapi(adopt, async (c) => {
    ownerOnly(c.get('caller'));
    const { id } = c.req.valid('param');
    const adopted = await api.adoptNode({ id, force: c.req.valid('json').force });
    return c.json({ status: 'adopted' as const, id, ...adopted }, 200);
  });
  return routes;
}

function showNode({ id, record, state, self, agents, running, queued }: ShownNode) {
  return {
    id,
    name: record?.name ?? null,
    self,
    state,
    host: record?.host ?? null,
    home: record?.home ?? null,
    version: record?.version ?? null,
    labels: [...(record?.labels ?? [])],
    shared: [...(record?.shared ?? [])],
    providers: [...(record?.providers ?? [])],
    slots: record?.slots ?? 0,
    agents,
    running,
    queued,
    startedAt: shownTime(record?.startedAt),
    seenAt: shownTime(record?.seenAt),
    drainingAt: shownTime(record?.drainingAt),
  };
}

function shownTime(at: number | null | undefined): string | null {
  return at == null ? null : showTime(at);
}
