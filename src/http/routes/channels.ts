import { z } from '@hono/zod-openapi';
import { shorten } from '../../core/agent.ts';
import { SubstratError } from '../../core/errors.ts';
import type { ChannelRow, Tx } from '../../store/store.ts';
import type { Caller } from '../access.ts';
import type { Api } from '../api.ts';
import { readCursor, writeCursor } from '../cursor.ts';
import { createRouter, describe, type Router } from '../router.ts';
import { Channel, Message, Participant, pageOf, pageQuery } from '../schemas.ts';
import { showChannel, showMessage } from '../shown.ts';

const params = z.strictObject({ id: z.string() });
const NONE = { 404: 'There is no such channel, for this caller.' };

const list = describe(
  { method: 'get', path: '/', summary: 'List the channels that you see, by id.', request: { query: pageQuery({}) } },
  { status: 200, description: 'A page of channels.', schema: pageOf(Channel) },
);
const get = describe(
  { method: 'get', path: '/{id}', summary: 'One channel.', request: { params } },
  { status: 200, description: 'The channel.', schema: Channel },
  NONE,
);
const messages = describe(
  {
    method: 'get',
    path: '/{id}/messages',
    summary: 'What was said there, newest first.',
    request: { params, query: pageQuery({}) },
  },
  { status: 200, description: 'A page of messages.', schema: pageOf(Message) },
  NONE,
);
const members = describe(
  { method: 'get', path: '/{id}/members', summary: 'Who is in it, in the order of joining.', request: { params } },
  { status: 200, description: 'The members.', schema: pageOf(Participant) },
  NONE,
);

export function channelRoutes(api: Api): Router {
  const routes = createRouter();
  routes.openapi(list, async (c) => {
    const { cursor, limit } = c.req.valid('query');
    const caller = c.get('caller');
    const after = cursor === undefined ? '' : readCursor(cursor, ['string'])[0];
    const participantId = caller.owner ? null : caller.id;
    const rows = await api.store.read((tx) => tx.listChannels({ participantId, after, limit: limit + 1 }));
    const items = rows.slice(0, limit);
    const nextCursor = rows.length > limit ? writeCursor(items.at(-1)?.id ?? '') : null;
    return c.json({ items: items.map(showChannel), nextCursor }, 200);
  });
  routes.openapi(get, async (c) => {
    const channel = await api.store.read((tx) => visibleChannel(tx, c.get('caller'), c.req.valid('param').id));
    return c.json(showChannel(channel), 200);
  });
  routes.openapi(messages, async (c) => {
    const { cursor, limit } = c.req.valid('query');
    const before = cursor === undefined ? Number.MAX_SAFE_INTEGER : readCursor(cursor, ['number'])[0];
    const rows = await api.store.read(async (tx) => {
      const { id } = await visibleChannel(tx, c.get('caller'), c.req.valid('param').id);
      return tx.listChannelMessages({ channelId: id, before, limit: limit + 1 });
    });
    const items = rows.slice(0, limit);
    const nextCursor = rows.length > limit ? writeCursor(items.at(-1)?.seq ?? 0) : null;
    return c.json({ items: items.map(showMessage), nextCursor }, 200);
  });
  routes.openapi(members, async (c) => {
    const rows = await api.store.read(async (tx) => {
      const { id } = await visibleChannel(tx, c.get('caller'), c.req.valid('param').id);
      return tx.listMemberHandles({ channelId: id });
    });
    const items = rows.map(({ id, kind, handle }) => ({ id, kind: kind as 'agent' | 'person', handle }));
    return c.json({ items, nextCursor: null }, 200);
  });
  return routes;
}

async function visibleChannel(tx: Tx, caller: Caller, id: string): Promise<ChannelRow> {
  const channel = await tx.getChannel({ id });
  const visible = channel && (caller.owner || (await tx.isMember({ channelId: id, participantId: caller.id })));
  if (!visible) throw new SubstratError('not_found', `There is no channel ${shorten(id)}.`);
  return channel;
}
