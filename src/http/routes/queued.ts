import { z } from '@hono/zod-openapi';
import { resolveChannel } from '../../messaging/channels.ts';
import type { MessageView, Tx } from '../../store/store.ts';
import type { Api } from '../api.ts';
import { readMessagePage } from '../page.ts';
import { createRouter, describe, type Router } from '../router.ts';
import { Message, pageOf } from '../schemas.ts';
import { showMessages } from '../shown.ts';

/** So many of the newest messages of a channel are looked at, and so many of the caller's own among them. */
const MOST_READ = 100;
const MOST_OWN = 20;

const Queued = z
  .strictObject({
    ...Message.shape,
    to: z.array(z.string()).openapi({ description: 'Handles of the agents that have not received it.' }),
  })
  .openapi('QueuedMessage');

const queued = describe(
  {
    method: 'get',
    path: '/{id}/queued',
    summary:
      'List your latest messages in a channel that an agent has not received yet, oldest first. Until then you can edit or delete them.',
    request: { params: z.strictObject({ id: z.string() }) },
  },
  { status: 200, description: 'Your queued messages.', schema: pageOf(Queued) },
  { 404: 'The channel does not exist, or the caller cannot see it.' },
);

export function queuedRoutes(api: Api): Router {
  const routes = createRouter();
  routes.openapi(queued, async (c) => {
    const caller = c.get('caller');
    const items = await api.store.read(async (tx) => {
      const { id: channelId } = await resolveChannel(tx, caller, c.req.param('id'), null);
      const { rows } = await readMessagePage({ limit: MOST_READ }, (part) =>
        tx.messages.listChannelMessages({ channelId, ...part }),
      );
      const own = rows.filter((row) => row.handle === caller.handle && row.deletedAt === null).slice(0, MOST_OWN);
      const waiting: { row: MessageView; to: string[] }[] = [];
      for (const row of own) {
        const to = await waitingFor(tx, row.id);
        if (to.length > 0) waiting.unshift({ row, to });
      }
      const shown = await showMessages(
        tx,
        waiting.map(({ row }) => row),
      );
      return shown.map((message, i) => ({ ...message, to: waiting[i]?.to ?? [] }));
    });
    return c.json({ items, nextCursor: null }, 200);
  });
  return routes;
}

async function waitingFor(tx: Tx, messageId: string): Promise<string[]> {
  const handles: string[] = [];
  for (const { agentId } of await tx.deliveries.listPendingRecipients({ messageId })) {
    const agent = await tx.agents.getAgent({ id: agentId });
    if (agent) handles.push(agent.handle);
  }
  return handles;
}
