import { readFile } from 'node:fs/promises';
import { z } from '@hono/zod-openapi';
import { SubstratError } from '../../core/errors.ts';
import { EXTERNAL } from '../../core/provider-names.ts';
import { isFullId } from '../../core/short-id.ts';
import { heldState } from '../../core/status.ts';
import { findDm } from '../../messaging/channels.ts';
import { resolveReference } from '../../messaging/reference.ts';
import { foreseePost, sendAsPerson } from '../../messaging/send.ts';
import type { AgentView, Tx } from '../../store/store.ts';
import { type Caller, ownerOnly } from '../access.ts';
import { AgentPause } from '../agent-settings.ts';
import type { Api } from '../api.ts';
import { bytesOf } from '../attachments.ts';
import { readCursor, writeCursor } from '../cursor.ts';
import { onNode } from '../elsewhere.ts';
import { etagOf } from '../etags.ts';
import { fullMessageId } from '../full-id.ts';
import { keyParameter, once } from '../once.ts';
import { readMessagePage, readPage } from '../page.ts';
import { createRouter, describe, type Router } from '../router.ts';
import {
  Agent,
  AgentCreation,
  AgentProfile,
  label,
  Message,
  MessageCreation,
  pageOf,
  pageQuery,
  Sent,
} from '../schemas.ts';
import { showAgent, showMessages, showProfile, showSent } from '../shown.ts';
import { visibleAgent } from '../visible-agent.ts';

/** Only documented: any text is accepted, and validation costs time. */
const reference = {
  name: 'id',
  in: 'path' as const,
  required: true,
  schema: { type: 'string' as const },
  description: 'REF: an id, a handle, a name or a path.',
};
const body = <S extends z.ZodType>(schema: S) => ({ required: true, content: { 'application/json': { schema } } });
const McpConfig = z
  .strictObject({ agentId: z.string(), path: z.string(), config: z.record(z.string(), z.unknown()) })
  .openapi('McpConfig');
const Terminated = z.strictObject({ status: z.literal('terminated'), agentId: z.string() }).openapi('Terminated');
const AgentDeleted = z
  .strictObject({
    status: z.literal('deleted'),
    agentId: z.string(),
    agents: z.array(z.string()).openapi({ description: 'Handles of all that were deleted.' }),
    messages: z.int(),
    runs: z.int(),
  })
  .openapi('AgentDeleted');
const NONE = 'There is no such agent.';

const AgentMove = z
  .strictObject({
    node: label.openapi({ description: 'Name or id of the node.' }),
    withoutWorkspace: z.boolean().default(false).openapi({
      description: 'Leave files and session behind. It begins with an empty workspace and the journal.',
    }),
  })
  .openapi('AgentMove');

const list = describe(
  {
    method: 'get',
    path: '/',
    summary: 'List agents, oldest first.',
    request: { query: pageQuery({ all: z.enum(['true', 'false']).default('false') }) },
  },
  { status: 200, description: 'A page of agents.', schema: pageOf(Agent) },
);
const create = describe(
  {
    method: 'post',
    path: '/',
    summary: 'Create an agent.',
    parameters: [keyParameter],
    request: { body: body(AgentCreation) },
  },
  { status: 201, description: 'The agent.', schema: Agent },
  {
    404: 'There is no such parent.',
    409: 'The name, or the idempotency key, is taken.',
    410: 'The parent is terminated.',
    422: 'A limit is reached, or the provider is not available.',
  },
);
const get = describe(
  { method: 'get', path: '/{id}', summary: 'Get an agent.', parameters: [reference] },
  {
    status: 200,
    description: 'The agent for the owner, its profile for other people.',
    schema: z.union([Agent, AgentProfile]),
  },
  { 404: NONE, 409: 'More than one agent has that name.' },
);
const send = describe(
  {
    method: 'post',
    path: '/{id}/messages',
    summary: 'Send a message to an agent, as yourself.',
    parameters: [reference, keyParameter],
    request: { body: body(MessageCreation) },
  },
  { status: 201, description: 'The id of the message. If it is a request, the agent will answer.', schema: Sent },
  {
    404: NONE,
    409: 'More than one agent has that name, or the idempotency key was used for another request.',
    410: 'The agent is terminated.',
  },
);
const talk = describe(
  {
    method: 'get',
    path: '/{id}/messages',
    summary: 'List your conversation with an agent, newest first.',
    parameters: [reference],
    request: { query: pageQuery({}) },
  },
  { status: 200, description: 'A page of messages.', schema: pageOf(Message) },
  { 404: NONE, 409: 'More than one agent has that name.' },
);
const terminate = describe(
  {
    method: 'post',
    path: '/{id}/terminate',
    summary: 'Terminate an agent and all of its descendants.',
    parameters: [reference],
  },
  { status: 200, description: 'Terminated.', schema: Terminated },
  { 404: NONE, 409: 'It is terminated already, or more than one agent has that name.' },
);
const remove = describe(
  {
    method: 'delete',
    path: '/{id}',
    summary: 'Delete a terminated agent and all of its descendants, with their messages, runs and memory.',
    parameters: [reference],
  },
  { status: 200, description: 'Deleted.', schema: AgentDeleted },
  { 404: NONE, 409: 'It is not terminated, or more than one agent has that name.' },
);
const pause = describe(
  {
    method: 'post',
    path: '/{id}/pause',
    summary: 'Pause an agent: it starts no turn, and its messages wait until it is resumed.',
    parameters: [reference],
    request: { body: body(AgentPause) },
  },
  { status: 200, description: 'The agent.', schema: Agent },
  { 404: NONE, 409: 'It is paused already, or more than one agent has that name.', 410: 'It is terminated.' },
);
const resume = describe(
  {
    method: 'post',
    path: '/{id}/resume',
    summary: 'Resume a paused agent.',
    parameters: [reference],
  },
  { status: 200, description: 'The agent.', schema: Agent },
  { 404: NONE, 409: 'It is not paused, or more than one agent has that name.' },
);
const move = describe(
  {
    method: 'post',
    path: '/{id}/move',
    summary: 'Move an agent, and its descendants in the same workspace, to another node.',
    parameters: [reference],
    request: { body: body(AgentMove) },
  },
  { status: 200, description: 'The agent.', schema: Agent },
  {
    404: 'There is no such agent or node.',
    409: 'It is in a turn, has files or a session on its node, or the node takes no agents.',
    410: 'The agent is terminated.',
  },
);
const mcp = describe(
  {
    method: 'get',
    path: '/{id}/mcp',
    summary: 'Get the MCP configuration for joining as an external agent.',
    parameters: [reference],
  },
  { status: 200, description: 'Its path and content.', schema: McpConfig },
  { 404: NONE, 409: 'It is not an external agent.' },
);

export function agentRoutes(api: Api): Router {
  const routes = createRouter();
  routes.openapi(list, async (c) => {
    ownerOnly(c.get('caller'));
    const { cursor, limit, all } = c.req.valid('query');
    const [createdAt, id] = cursor === undefined ? [0, ''] : readCursor(cursor, ['number', 'string']);
    const start = cursor === undefined ? null : { createdAt, id };
    const { rows, more } = await api.store.read((tx) =>
      readPage(
        { limit, start },
        (after, count) => tx.agents.listAgentViews({ after, limit: count, all: all === 'true' }),
        {
          placeOf: (row) => ({ createdAt: row.createdAt, id: row.id }),
          sizeOf: (row) => row.instructions.length,
        },
      ),
    );
    const last = rows.at(-1);
    const nextCursor = more && last ? writeCursor(last.createdAt, last.id) : null;
    return c.json({ items: rows.map((row) => showAgent(row, api.clock())), nextCursor }, 200);
  });
  routes.openapi(create, async (c) => {
    ownerOnly(c.get('caller'));
    const wish = c.req.valid('json');
    const node = await api.placeAgent(wish);
    const create = async () => {
      const agent = await api.addAgent(wish, (effect) => once(api, c, wish, effect));
      return showAgent(agent, api.clock());
    };
    return c.json(await onNode(api, c, node, create, { ...wish, node, labels: [] }), 201);
  });
  routes.openapi(get, async (c) => {
    const caller = c.get('caller');
    const shown = await api.store.read(async (tx) => {
      const view = await viewAgent(tx, caller, c.req.param('id'));
      if (caller.owner) return showAgent(view, api.clock());
      return showProfile(view, await tx.channels.listSharedChannels({ a: caller.id, b: view.id }));
    });
    return c.json(shown, 200, 'revision' in shown ? { etag: etagOf(shown.revision) } : {});
  });
  routes.openapi(send, async (c) => {
    const wish = c.req.valid('json');
    const attachments = bytesOf(wish.attachments);
    const caller = c.get('caller');
    const effect = async (tx: Tx) => {
      const reference = c.req.param('id');
      const [agent] = await Promise.all([
        visibleAgent(tx, caller, reference),
        isFullId(reference) && foreseePost(tx, reference, caller),
      ]);
      const inReplyTo = wish.inReplyTo && (await fullMessageId(tx, caller.id, wish.inReplyTo));
      const message = { ...wish, inReplyTo, attachments };
      const recipientState = heldState(agent);
      const sent = showSent(await sendAsPerson(tx, api.rules, caller, agent, message, api.clock()));
      return recipientState === null ? sent : { ...sent, recipientState };
    };
    const { value } = await once(api, c, wish, effect, `post to ${c.req.param('id')}`);
    return c.json(value, 201);
  });
  routes.openapi(talk, async (c) => {
    const query = c.req.valid('query');
    const caller = c.get('caller');
    const page = await api.store.read(async (tx) => {
      const agent = await visibleAgent(tx, caller, c.req.param('id'));
      const dm = await findDm(tx, agent, caller);
      const { rows, nextCursor } = await readMessagePage(query, async (part) =>
        dm ? tx.messages.listChannelMessages({ channelId: dm.id, ...part }) : [],
      );
      return { items: await showMessages(tx, rows), nextCursor };
    });
    return c.json(page, 200);
  });
  routes.openapi(terminate, async (c) => {
    ownerOnly(c.get('caller'));
    const { id } = await api.store.read((tx) => resolveReference(tx, c.req.param('id')));
    await api.terminateAgent(id, 'a person terminated it');
    return c.json({ status: 'terminated' as const, agentId: id }, 200);
  });
  routes.openapi(remove, async (c) => {
    ownerOnly(c.get('caller'));
    const { id, nodeId } = await api.store.read((tx) => resolveReference(tx, c.req.param('id')));
    const act = async () => {
      const { agents, messages, runs } = await api.deleteAgent(id);
      return { status: 'deleted' as const, agentId: id, agents: agents.map(({ handle }) => handle), messages, runs };
    };
    // Only its own node has its files.
    return c.json(await onNode(api, c, nodeId, act), 200);
  });
  routes.openapi(pause, async (c) => {
    ownerOnly(c.get('caller'));
    const { reason, now } = c.req.valid('json');
    const { id } = await api.store.read((tx) => resolveReference(tx, c.req.param('id')));
    const why = reason === '' ? 'A person paused it.' : reason;
    return c.json(showAgent(await api.pauseAgent(id, { reason: why, now }), api.clock()), 200);
  });
  routes.openapi(resume, async (c) => {
    ownerOnly(c.get('caller'));
    const { id } = await api.store.read((tx) => resolveReference(tx, c.req.param('id')));
    return c.json(showAgent(await api.resumeAgent(id), api.clock()), 200);
  });
  routes.openapi(move, async (c) => {
    ownerOnly(c.get('caller'));
    const wish = c.req.valid('json');
    const agent = await api.store.read((tx) => resolveReference(tx, c.req.param('id')));
    const act = async () => showAgent(await api.moveAgent(agent.id, wish), api.clock());
    // Only its own node knows whether it has files.
    const { state } = await api.findNode(agent.nodeId);
    const here = wish.withoutWorkspace || state === 'dead' || state === 'stopped';
    return c.json(await onNode(api, c, here ? api.nodeId : agent.nodeId, act, wish), 200);
  });
  routes.openapi(mcp, async (c) => {
    ownerOnly(c.get('caller'));
    const agent = await api.store.read((tx) => resolveReference(tx, c.req.param('id')));
    if (agent.provider !== EXTERNAL) {
      const message = `${agent.handle} has the provider "${agent.provider}"; only agents with the provider "external" can be joined.`;
      throw new SubstratError('conflict', message);
    }
    const read = async () => {
      const path = api.home.mcpConfig(agent.id);
      const config = JSON.parse(await readFile(path, 'utf8')) as Record<string, unknown>;
      return { agentId: agent.id, path, config };
    };
    return c.json(await onNode(api, c, agent.nodeId, read), 200);
  });
  return routes;
}

/** Most requests use an id; for the owner one query is then enough. */
async function viewAgent(tx: Tx, caller: Caller, reference: string): Promise<AgentView> {
  const view = caller.owner ? await tx.agents.getAgentView({ id: reference }) : null;
  if (view) return view;
  const { id } = await visibleAgent(tx, caller, reference);
  return (await tx.agents.getAgentView({ id })) as AgentView;
}
