import { z } from '@hono/zod-openapi';
import { MAX_QUERY } from '../../core/memory.ts';
import { resolveChannel } from '../../messaging/channels.ts';
import { searchChannels } from '../../messaging/search-messages.ts';
import type { Caller } from '../access.ts';
import type { Api } from '../api.ts';
import { createRouter, describe, type Router } from '../router.ts';
import { instant, pageOf } from '../schemas.ts';
import { Said } from './passages.ts';

const PAGE = 500;

const search = describe(
  {
    method: 'get',
    path: '/',
    summary:
      'Search the messages of the channels and DMs that you see, or of one of them: best first, one page. Reads the newest 20,000.',
    request: {
      query: z.strictObject({
        q: z.string().min(1).max(MAX_QUERY),
        channel: z.string().max(200).optional(),
        limit: z.coerce.number().int().min(1).max(100).default(20),
        since: instant.optional(),
        until: instant.optional(),
      }),
    },
  },
  {
    status: 200,
    description: 'What was said.',
    schema: z
      .strictObject({
        ...pageOf(Said).shape,
        complete: z.boolean().openapi({ description: 'False if there are more messages than were read.' }),
      })
      .openapi('MessagesFound'),
  },
  { 404: 'The channel does not exist, or the caller cannot see it.' },
);

export function searchRoutes(api: Api): Router {
  const routes = createRouter();
  routes.openapi(search, async (c) => {
    const { q: query, channel, limit, since, until } = c.req.valid('query');
    const caller = c.get('caller');
    const channelIds =
      channel === undefined
        ? await seenBy(api, caller)
        : [(await api.store.read((tx) => resolveChannel(tx, caller, channel, null))).id];
    const wanted = {
      query,
      limit,
      since: since === undefined ? 0 : Date.parse(since),
      until: until === undefined ? Number.MAX_SAFE_INTEGER : Date.parse(until),
    };
    const { found, isComplete } = await searchChannels(api.store, channelIds, wanted, c.req.raw.signal);
    const items = found.map((one) => ({ ...one, runId: null, createdAt: new Date(one.createdAt).toISOString() }));
    return c.json({ items, nextCursor: null, complete: isComplete }, 200);
  });
  return routes;
}

/** The same channels that the list of channels shows. */
async function seenBy(api: Api, { id: participantId, owner }: Caller): Promise<string[]> {
  const ids: string[] = [];
  for (let after = ''; ; ) {
    const rows = await api.store.read((tx) =>
      tx.channels.listChannels({ participantId, all: owner, after, limit: PAGE }),
    );
    ids.push(...rows.map(({ id }) => id));
    if (rows.length < PAGE) return ids;
    after = rows.at(-1)?.id ?? '';
  }
}
