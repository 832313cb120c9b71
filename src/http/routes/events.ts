import { createRoute, z } from '@hono/zod-openapi';
import { ownerOnly } from '../access.ts';
import type { Api } from '../api.ts';
import type { EventHub } from '../hub.ts';
import { createRouter, errorResponses, type Router } from '../router.ts';
import { label } from '../schemas.ts';
import { socketOf, startOf, streamEvents } from '../stream.ts';
import { visibleAgent } from '../visible-agent.ts';

const stream = createRoute({
  method: 'get',
  path: '/',
  summary: 'Stream events as server-sent events: `id` is the event number, `event` the type, `data` an Event.',
  request: {
    query: z.strictObject({
      agent: label
        .optional()
        .openapi({ description: 'Only events of this agent (REF): its messages in both directions and its turns.' }),
      channel: label.optional(),
      type: label.optional().openapi({ description: 'Event types, separated by commas.' }),
      live: z.stringbool().optional().openapi({
        description:
          'Also send what turns do at this moment, without numbers and for the owner only: `live_text`, `live_tool_call`, `live_tool_result`.',
      }),
      after: z
        .string()
        .max(20)
        .optional()
        .openapi({ description: 'Same as Last-Event-ID, for the first request. -n begins with the last n events.' }),
    }),
    headers: z.object({
      'last-event-id': z.string().max(20).optional().openapi({ description: 'Resume after this event number.' }),
    }),
  },
  responses: {
    200: { description: 'The stream.', content: { 'text/event-stream': { schema: z.string() } } },
    ...errorResponses({
      404: 'There is no such agent.',
      410: 'Events after that number are no longer stored, or it is not a number of this store.',
    }),
  },
});

export function eventRoutes(api: Api, hub: EventHub): Router {
  const routes = createRouter();
  routes.openapi(stream, async (c) => {
    const { agent, channel, type, after, live = false } = c.req.valid('query');
    if (live) ownerOnly(c.get('caller'));
    const { outgoing } = c.env;
    // Before anything is waited for: meanwhile an earlier response could end, and later requests would wait for the stream.
    if (outgoing.req.method !== 'HEAD') socketOf(outgoing);
    const start = await startOf(api, c.req.valid('header')['last-event-id'] ?? after);
    const agentId =
      agent === undefined ? null : (await api.store.read((tx) => visibleAgent(tx, c.get('caller'), agent))).id;
    const types = type === undefined ? null : type.split(',').map((one) => one.trim());
    const filter = { agentId, channelId: channel ?? null, types, live };
    return streamEvents(api, hub, c.get('caller'), outgoing, start, filter) as never;
  });
  return routes;
}
