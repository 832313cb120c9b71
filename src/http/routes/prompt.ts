import { z } from '@hono/zod-openapi';
import { estimateTokens } from '../../core/tokens.ts';
import { resolveReference } from '../../messaging/reference.ts';
import { previewPrompt } from '../../runs/start.ts';
import { ownerOnly } from '../access.ts';
import type { Api } from '../api.ts';
import { onNode } from '../elsewhere.ts';
import { createRouter, describe, type Router } from '../router.ts';
import { Prompt } from '../schemas.ts';

const params = z.strictObject({ id: z.string().openapi({ description: 'REF: an id, a handle, a name or a path.' }) });

const preview = describe(
  {
    method: 'get',
    path: '/{id}/prompt',
    summary: "Show the prompt of the agent's next turn, section by section.",
    request: { params },
  },
  { status: 200, description: 'The sections in order, with an estimate of their tokens.', schema: Prompt },
  {
    404: 'There is no such agent, or its persona no longer exists.',
    408: 'Its persona timed out.',
    409: 'More than one agent has that name.',
  },
);

export function promptRoutes(api: Api): Router {
  const routes = createRouter();
  routes.openapi(preview, async (c) => {
    ownerOnly(c.get('caller'));
    const agent = await api.store.read((tx) => resolveReference(tx, c.req.valid('param').id));
    const show = async () => {
      const persona = await api.askPersona(agent);
      const parts = await api.store.read((tx) => previewPrompt(tx, agent, persona));
      const sections = parts.map(({ name, text }) => ({ name, text, tokens: estimateTokens(text) }));
      const tokens = sections.reduce((sum, section) => sum + section.tokens, 0);
      return { agentId: agent.id, sections, tokens, estimate: 'UTF-8 bytes / 4' as const };
    };
    // Its persona is one of the configuration of its node.
    return c.json(await onNode(api, c, agent.persona === null ? api.nodeId : agent.nodeId, show), 200);
  });
  return routes;
}
