import { isAbsolute } from 'node:path';
import { Hono } from 'hono';
import * as z from 'zod';
import { agentState } from '../../core/agent.ts';
import { SubstratError } from '../../core/errors.ts';
import { resolveReference } from '../../messaging/reference.ts';
import { sendAsPerson } from '../../messaging/send.ts';
import type { AgentCursor, AgentView } from '../../store/store.ts';
import { textField } from '../../tools/tool.ts';
import type { Api } from '../api.ts';
import { parse, readBody } from '../body.ts';

const noNul = (text: string): boolean => !text.includes('\0');
const NO_NUL = 'must not contain NUL characters';
const said = z.string().min(1).max(500).refine(noNul, NO_NUL);
const path = z.string().min(1).max(4096).refine(noNul, NO_NUL);
const text = textField('What is said.');

const creation = z.strictObject({
  name: z.string(),
  parent: said.nullable().default(null),
  role: said.nullable().default(null),
  instructions: text.or(z.literal('')).default(''),
  provider: said.nullable().default(null),
  model: said.nullable().default(null),
  program: path.nullable().default(null),
  workspace: path.refine(isAbsolute, 'must be an absolute path').nullable().default(null),
  tools: z.array(said).nullable().default(null),
});
const message = z.strictObject({ text, inReplyTo: said.optional() });
const page = z.strictObject({
  cursor: z.string().max(200).optional(),
  limit: z.coerce.number().int().min(1).max(500).default(100),
  all: z.enum(['true', 'false']).default('false'),
});

export function agentRoutes(api: Api): Hono {
  const routes = new Hono();
  routes.post('/', async (c) => {
    const agent = await api.addAgent(await readBody(c.req.raw, creation));
    const view = (await api.store.read((tx) => tx.getAgentView({ id: agent.id }))) as AgentView;
    return c.json(shown(view), 201);
  });
  routes.get('/', async (c) => {
    const { cursor, limit, all } = parse(page, c.req.query());
    const after = cursor === undefined ? null : readCursor(cursor);
    const rows = await api.store.read((tx) => tx.listAgentViews({ after, limit: limit + 1, all: all === 'true' }));
    const items = rows.slice(0, limit);
    const last = items.at(-1);
    return c.json({ items: items.map(shown), nextCursor: rows.length > limit && last ? writeCursor(last) : null });
  });
  routes.get('/:ref', async (c) => {
    const view = await api.store.read(async (tx) => {
      const { id } = await resolveReference(tx, c.req.param('ref'));
      return (await tx.getAgentView({ id })) as AgentView;
    });
    return c.json(shown(view));
  });
  routes.post('/:ref/messages', async (c) => {
    const body = await readBody(c.req.raw, message);
    const messageId = await api.store.write(async (tx) => {
      const agent = await resolveReference(tx, c.req.param('ref'));
      return sendAsPerson(tx, api.tools.settings.rules, agent, body, api.clock());
    });
    return c.json({ messageId }, 201);
  });
  routes.post('/:ref/terminate', async (c) => {
    const { id } = await api.store.read((tx) => resolveReference(tx, c.req.param('ref')));
    await api.terminateAgent(id, 'a person terminated it');
    return c.json({ status: 'terminated', agentId: id });
  });
  /** What somebody's own agent window needs to join the team. */
  routes.get('/:ref/mcp', async (c) => {
    const agent = await api.store.read((tx) => resolveReference(tx, c.req.param('ref')));
    if (agent.provider !== 'external') {
      const message = `${agent.handle} is run by "${agent.provider}"; only an external agent can be joined.`;
      throw new SubstratError('conflict', message);
    }
    return c.json({ agentId: agent.id, path: api.home.mcpConfig(agent.id) });
  });
  return routes;
}

function shown(view: AgentView) {
  return {
    id: view.id,
    name: view.name,
    handle: view.handle,
    role: view.role,
    state: agentState(view),
    parentId: view.parent_id,
    provider: view.provider,
    model: view.model,
    program: view.program,
    workspace: view.workspace,
    tools: view.tools === null ? null : (JSON.parse(view.tools) as string[]),
    pending: view.pending,
    createdAt: new Date(view.created_at).toISOString(),
  };
}

export type AgentShown = ReturnType<typeof shown>;

function writeCursor({ created_at, id }: AgentView): string {
  return Buffer.from(`${created_at} ${id}`).toString('base64url');
}

function readCursor(cursor: string): AgentCursor {
  const [, createdAt, id] = /^(\d{1,15}) ([0-9a-f-]{36})$/.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  if (!id) throw new SubstratError('bad_request', 'That cursor is not one of ours; start without.');
  return { createdAt: Number(createdAt), id };
}
