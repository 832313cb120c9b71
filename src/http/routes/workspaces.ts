import { relative } from 'node:path';
import { z } from '@hono/zod-openapi';
import type { Link as LinkRecord } from '../../core/workspace.ts';
import type { Tx, WorkspaceView } from '../../store/store.ts';
import { type Caller, findWorkspace, networkOf, type WorkspaceRules } from '../../workspaces/access.ts';
import { checkWorkspace, createWorkspace } from '../../workspaces/create.ts';
import { addLink, checkLink, removeLink } from '../../workspaces/links.ts';
import { checkRemoval, deleteWorkspace } from '../../workspaces/remove.ts';
import { ownerOnly } from '../access.ts';
import type { Api } from '../api.ts';
import { readCursor, writeCursor } from '../cursor.ts';
import { onNode } from '../elsewhere.ts';
import { once } from '../once.ts';
import { createRouter, describe, type Router } from '../router.ts';
import { Link, LinkCreation, pageOf, pageQuery, Workspace, WorkspaceCreation } from '../schemas.ts';
import { showTime } from '../shown.ts';

const params = z.strictObject({ id: z.string().openapi({ description: 'Name or id of the workspace.' }) });
const body = <S extends z.ZodType>(schema: S) => ({ required: true, content: { 'application/json': { schema } } });
const headers = z.object({ 'idempotency-key': z.string().min(1).max(200).optional() });
const Deleted = z.strictObject({ status: z.literal('deleted'), id: z.string() }).openapi('WorkspaceDeleted');
const Unlinked = z.strictObject({ status: z.literal('unlinked') }).openapi('Unlinked');
const NONE = 'There is no such workspace.';

const list = describe(
  { method: 'get', path: '/', summary: 'List workspaces by name.', request: { query: pageQuery({}) } },
  { status: 200, description: 'A page of workspaces.', schema: pageOf(Workspace) },
);
const create = describe(
  { method: 'post', path: '/', summary: 'Create a workspace.', request: { headers, body: body(WorkspaceCreation) } },
  { status: 201, description: 'The workspace.', schema: Workspace },
  {
    404: 'The directory, or the workspace to view, does not exist.',
    409: 'The name, or the idempotency key, is taken.',
  },
);
const get = describe(
  { method: 'get', path: '/{id}', summary: 'Get a workspace.', request: { params } },
  { status: 200, description: 'The workspace.', schema: Workspace },
  { 404: NONE },
);
const remove = describe(
  {
    method: 'delete',
    path: '/{id}',
    summary: 'Delete an unused workspace, and its directory if Substrat created it.',
    request: { params },
  },
  { status: 200, description: 'Deleted.', schema: Deleted },
  { 404: NONE, 409: 'The workspace is in use or has uncommitted changes.' },
);
const link = describe(
  {
    method: 'post',
    path: '/{id}/links',
    summary: 'Link a directory into a workspace.',
    request: { params, headers, body: body(LinkCreation) },
  },
  { status: 201, description: 'The link.', schema: Link },
  { 404: 'There is no such workspace or directory.', 409: 'There is a link already.', 422: 'It has too many links.' },
);
const unlink = describe(
  {
    method: 'delete',
    path: '/{id}/links',
    summary: 'Remove a link from a workspace. The linked directory is not changed.',
    request: { params, query: z.strictObject({ target: LinkCreation.shape.target }) },
  },
  { status: 200, description: 'Removed.', schema: Unlinked },
  { 404: 'There is no such workspace or link.' },
);

export function workspaceRoutes(api: Api): Router {
  const routes = createRouter();
  const rules = api.workspaces;
  routes.openapi(list, async (c) => {
    ownerOnly(c.get('caller'));
    const { cursor, limit } = c.req.valid('query');
    const after = cursor === undefined ? '' : readCursor(cursor, ['string'])[0];
    const page = await api.store.read(async (tx) => {
      const rows = await tx.workspaces.listWorkspaces({ after, limit: limit + 1 });
      const items = [];
      for (const row of rows.slice(0, limit)) items.push(await showWorkspace(tx, rules, row));
      return { items, nextCursor: rows.length > limit ? writeCursor(rows[limit - 1]?.nameKey ?? '') : null };
    });
    return c.json(page, 200);
  });
  routes.openapi(create, async (c) => {
    ownerOnly(c.get('caller'));
    const wish = c.req.valid('json');
    const caller = callerOf(c.get('caller').id);
    await api.store.read((tx) => checkWorkspace(tx, rules, caller, wish));
    const { value, fresh } = await once(api, c, wish, (tx) => createWorkspace(tx, rules, caller, wish, api.clock()));
    if (fresh) await api.settleWorkspace(value);
    return c.json(await api.store.read((tx) => showWorkspace(tx, rules, value)), 201);
  });
  routes.openapi(get, async (c) => {
    const caller = c.get('caller');
    ownerOnly(caller);
    const shown = await api.store.read(async (tx) =>
      showWorkspace(tx, rules, await findWorkspace(tx, callerOf(caller.id), c.req.valid('param').id)),
    );
    return c.json(shown, 200);
  });
  routes.openapi(remove, async (c) => {
    ownerOnly(c.get('caller'));
    const caller = callerOf(c.get('caller').id);
    const { id } = c.req.valid('param');
    const { nodeId } = await api.store.read((tx) => findWorkspace(tx, caller, id));
    const remove = async () => {
      await checkRemoval(api.store, rules, caller, id);
      const deleted = await api.store.write((tx) => deleteWorkspace(tx, rules, caller, id, api.clock()));
      await api.settleWorkspace(deleted);
      return { status: 'deleted' as const, id: deleted.id };
    };
    return c.json(await onNode(api, c, nodeId, remove), 200);
  });
  routes.openapi(link, async (c) => {
    ownerOnly(c.get('caller'));
    const caller = callerOf(c.get('caller').id);
    const wish = { ...c.req.valid('json'), workspace: c.req.valid('param').id };
    const { nodeId } = await api.store.read((tx) => findWorkspace(tx, caller, wish.workspace));
    const add = async () => {
      await api.store.read((tx) => checkLink(tx, rules, caller, wish));
      const { value } = await once(api, c, wish, (tx) => addLink(tx, rules, caller, wish, api.clock()));
      return showLink(rules, value);
    };
    return c.json(await onNode(api, c, nodeId, add, c.req.valid('json')), 201);
  });
  routes.openapi(unlink, async (c) => {
    ownerOnly(c.get('caller'));
    const caller = callerOf(c.get('caller').id);
    const wish = { workspace: c.req.valid('param').id, target: c.req.valid('query').target };
    await api.store.write((tx) => removeLink(tx, caller, wish));
    return c.json({ status: 'unlinked' as const }, 200);
  });
  return routes;
}

function callerOf(id: string): Caller {
  return { id, agent: null };
}

async function showWorkspace(tx: Tx, rules: WorkspaceRules, row: WorkspaceView) {
  const base = row.viewOf === null ? null : await tx.workspaces.getWorkspace({ id: row.viewOf });
  const inhabitants = await tx.workspaces.listInhabitants({ workspaceId: row.id });
  return {
    id: row.id,
    name: row.name,
    owner: row.owner,
    path: row.path,
    viewOf: base?.name ?? null,
    subdir: base ? relative(base.path, row.path) : null,
    mode: row.mode,
    network: [...(await networkOf(tx, rules, row.id))],
    repository: row.repository,
    links: (await tx.workspaces.listLinks({ workspaceId: row.id })).map((one) => showLink(rules, one)),
    agents: inhabitants.filter(({ terminatedAt }) => terminatedAt === null).map(({ handle }) => handle),
    inForce: rules.inForce,
    createdAt: showTime(row.createdAt),
  };
}

function showLink(rules: WorkspaceRules, { target, source, mode }: LinkRecord) {
  return { target, source, mode, inForce: rules.inForce };
}
