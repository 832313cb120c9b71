import { z } from '@hono/zod-openapi';
import type { Agent as Row } from '../../core/agent.ts';
import { settingsOf } from '../../core/settings.ts';
import { resolveReference } from '../../messaging/reference.ts';
import { ownerOnly } from '../access.ts';
import { AgentSettings, ChangedAgent, SettingsRevision } from '../agent-settings.ts';
import type { Api } from '../api.ts';
import { readCursor, writeCursor } from '../cursor.ts';
import { onNode } from '../elsewhere.ts';
import { etagOf, versionsIn } from '../etags.ts';
import { createRouter, describe, type Router } from '../router.ts';
import { pageOf, pageQuery } from '../schemas.ts';
import { showAgent, showRevision } from '../shown.ts';

const params = z.strictObject({ id: z.string().openapi({ description: 'REF: an id, a handle, a name or a path.' }) });
const NONE = 'There is no such agent.';
const MANY = 'More than one agent has that name.';

const change = describe(
  {
    method: 'patch',
    path: '/{id}',
    summary: 'Change settings of an agent. They apply from its next turn; fewer tools apply from the next call.',
    request: {
      params,
      query: z.strictObject({
        now: z.enum(['true', 'false']).default('false').openapi({
          description:
            'End the turn in progress. It does not count as an attempt, and starts again with the new settings.',
        }),
      }),
      headers: z.object({
        'if-match': z.string().max(400).optional().openapi({
          description: 'ETags, or *: change the agent only if its settings have one of these revisions.',
        }),
      }),
      body: { required: true, content: { 'application/json': { schema: AgentSettings } } },
    },
  },
  { status: 200, description: 'The agent, and what changed.', schema: ChangedAgent },
  {
    404: 'There is no such agent, workspace or persona.',
    409: 'The name is taken, the agent is in a turn that cannot go on with the change, or more than one agent has that name.',
    410: 'The agent is terminated.',
    412: 'The settings have another revision.',
    422: 'The provider is not available, or cannot use so many tools.',
  },
);
const history = describe(
  {
    method: 'get',
    path: '/{id}/settings',
    summary: 'List every revision of the settings of an agent, newest first.',
    request: { params, query: pageQuery({}) },
  },
  { status: 200, description: 'A page of revisions.', schema: pageOf(SettingsRevision) },
  { 404: NONE, 409: MANY },
);

/** `/api/agents/{id}`: its settings and their history. */
export function settingsRoutes(api: Api): Router {
  const routes = createRouter();
  routes.openapi(change, async (c) => {
    ownerOnly(c.get('caller'));
    const wish = c.req.valid('json');
    const options = {
      expected: versionsIn(c.req.valid('header')['if-match']),
      now: c.req.valid('query').now === 'true',
    };
    const agent = await api.store.read((tx) => resolveReference(tx, c.req.valid('param').id));
    const act = async () => {
      const { agent: view, changed, running, interrupted } = await api.changeAgent(agent.id, wish, options);
      const kept = running && { ...running, keeps: [...running.keeps] };
      return { ...showAgent(view, api.clock()), changed: [...changed], running: kept, interrupted };
    };
    // Directories, programs and providers are those of its node.
    const isLocal = ['workspace', 'program', 'provider'].some((name) => name in wish);
    const changed = isLocal ? await onNode(api, c, agent.nodeId, act, wish) : await act();
    return c.json(changed, 200, { etag: etagOf(changed.revision) });
  });
  routes.openapi(history, async (c) => {
    ownerOnly(c.get('caller'));
    const { cursor, limit } = c.req.valid('query');
    const before = cursor === undefined ? Number.MAX_SAFE_INTEGER : readCursor(cursor, ['number'])[0];
    const rows = await api.store.read(async (tx) => {
      const agent = await resolveReference(tx, c.req.valid('param').id);
      const kept = await tx.settings.listRevisions({ agentId: agent.id, before, limit: limit + 1 });
      return agent.revision === 1 && before > 1 ? [firstOf(agent)] : kept;
    });
    const items = rows.slice(0, limit).map(showRevision);
    return c.json({ items, nextCursor: rows.length > limit ? writeCursor(items.at(-1)?.revision ?? 0) : null }, 200);
  });
  return routes;
}

/** An agent that was never changed has no history yet. */
function firstOf(agent: Row) {
  const { id: agentId, revision, createdAt: at } = agent;
  return { agentId, revision, settings: settingsOf(agent), changedBy: null, by: null, at };
}
