import { z } from '@hono/zod-openapi';
import type { Channel as ChannelRecord } from '../../core/channel.ts';
import { createChannel, resolveChannel } from '../../messaging/channels.ts';
import { deleteChannel } from '../../messaging/deletion.ts';
import { addMember, removeMember, setTopic, setWake } from '../../messaging/members.ts';
import { speak } from '../../messaging/speak.ts';
import type { ChannelView, Tx } from '../../store/store.ts';
import { type Caller, ownerOnly } from '../access.ts';
import type { Api } from '../api.ts';
import { bytesOf } from '../attachments.ts';
import { readCursor, writeCursor } from '../cursor.ts';
import { fullMessageId } from '../full-id.ts';
import { keyParameter, once } from '../once.ts';
import { readMessagePage } from '../page.ts';
import { createRouter, describe, type Router } from '../router.ts';
import {
  Channel,
  ChannelCreation,
  ChannelPost,
  ChannelTopic,
  Member,
  Membership,
  MembershipWake,
  Message,
  pageOf,
  pageQuery,
  Sent,
} from '../schemas.ts';
import { showChannel, showMember, showMessages, showSent } from '../shown.ts';
import { visibleParticipant } from '../visible-agent.ts';

const params = z.strictObject({ id: z.string() });
const memberParams = z.strictObject({ id: z.string(), participant: z.string() });
const NONE = { 404: 'The channel does not exist, or the caller cannot see it.' };
const FIXED = { ...NONE, 409: 'The channel is a DM or a team channel.' };
const json = <S extends z.ZodType>(schema: S) => ({ content: { 'application/json': { schema } }, required: true });

const list = describe(
  { method: 'get', path: '/', summary: 'List the channels you can see, by id.', request: { query: pageQuery({}) } },
  { status: 200, description: 'A page of channels.', schema: pageOf(Channel) },
);
const create = describe(
  {
    method: 'post',
    path: '/',
    summary: 'Create a channel. You become a member.',
    request: { body: json(ChannelCreation) },
    parameters: [keyParameter],
  },
  { status: 201, description: 'The channel.', schema: Channel },
  { 404: 'There is no such participant.', 409: 'The id is taken.' },
);
const get = describe(
  { method: 'get', path: '/{id}', summary: 'Get a channel.', request: { params } },
  { status: 200, description: 'The channel.', schema: Channel },
  NONE,
);
const change = describe(
  {
    method: 'patch',
    path: '/{id}',
    summary: 'Set the topic of a channel.',
    request: { params, body: json(ChannelTopic) },
  },
  { status: 200, description: 'The channel.', schema: Channel },
  FIXED,
);
const remove = describe(
  {
    method: 'delete',
    path: '/{id}',
    summary: 'Delete a channel with its messages.',
    request: { params },
  },
  {
    status: 200,
    description: 'Deleted.',
    schema: z
      .strictObject({ status: z.literal('deleted'), channelId: z.string(), messages: z.int() })
      .openapi('ChannelDeleted'),
  },
  { ...NONE, 409: 'The channel is a DM or a team channel, or an agent is reading it.' },
);
const messages = describe(
  {
    method: 'get',
    path: '/{id}/messages',
    summary: 'List the messages of a channel or of one thread, newest first.',
    request: { params, query: pageQuery({ thread: z.string().max(100).optional() }) },
  },
  { status: 200, description: 'A page of messages.', schema: pageOf(Message) },
  NONE,
);
const say = describe(
  {
    method: 'post',
    path: '/{id}/messages',
    summary: 'Post a message to a channel. `dm-x-y` opens a DM.',
    request: { params, body: json(ChannelPost) },
    parameters: [keyParameter],
  },
  { status: 201, description: 'The message is stored.', schema: Sent },
  { ...NONE, 409: 'The id is ambiguous: it matches more than one DM.', 410: 'The other participant is terminated.' },
);
const read = describe(
  { method: 'post', path: '/{id}/read', summary: 'Mark the whole channel as read.', request: { params } },
  { status: 200, description: 'The channel.', schema: Channel },
  NONE,
);
const members = describe(
  {
    method: 'get',
    path: '/{id}/members',
    summary: 'List the members of a channel, in the order they joined.',
    request: { params },
  },
  { status: 200, description: 'The members.', schema: pageOf(Member) },
  NONE,
);
const join = describe(
  {
    method: 'post',
    path: '/{id}/members',
    summary: 'Add a member to a channel.',
    request: { params, body: json(Membership) },
  },
  { status: 201, description: 'The members.', schema: pageOf(Member) },
  FIXED,
);
const tune = describe(
  {
    method: 'patch',
    path: '/{id}/members/{participant}',
    summary: 'Set what wakes an agent in a channel.',
    request: { params: memberParams, body: json(MembershipWake) },
  },
  { status: 200, description: 'The members.', schema: pageOf(Member) },
  FIXED,
);
const leave = describe(
  {
    method: 'delete',
    path: '/{id}/members/{participant}',
    summary: 'Leave a channel, or remove a member.',
    request: { params: memberParams },
  },
  { status: 200, description: 'Removed.', schema: z.strictObject({ status: z.literal('left') }) },
  FIXED,
);

export function channelRoutes(api: Api): Router {
  const routes = createRouter();
  routes.openapi(list, async (c) => {
    const { cursor, limit } = c.req.valid('query');
    const { id: participantId, owner } = c.get('caller');
    const after = cursor === undefined ? '' : readCursor(cursor, ['string'])[0];
    const page = { participantId, all: owner, after, limit: limit + 1 };
    const rows = await api.store.read((tx) => tx.channels.listChannels(page));
    const items = rows.slice(0, limit);
    const nextCursor = rows.length > limit ? writeCursor(items.at(-1)?.id ?? '') : null;
    return c.json({ items: items.map(showChannel), nextCursor }, 200);
  });
  routes.openapi(create, async (c) => {
    const wish = c.req.valid('json');
    const caller = c.get('caller');
    const { value } = await once(api, c, wish, async (tx) => {
      const others: string[] = [];
      for (const reference of wish.members) others.push((await visibleParticipant(tx, caller, reference)).id);
      const memberIds = [...new Set([caller.id, ...others])];
      const { id } = await createChannel(tx, { ...wish, memberIds }, caller.id, api.clock());
      return { id };
    });
    return c.json(await viewOf(api, caller, value.id), 201);
  });
  routes.openapi(get, async (c) => c.json(await viewOf(api, c.get('caller'), c.req.param('id')), 200));
  routes.openapi(change, async (c) => {
    const caller = c.get('caller');
    await withChannel(api, c.req.param('id'), caller, (tx, channel) =>
      setTopic(tx, channel, caller.id, c.req.valid('json').topic, api.clock()),
    );
    return c.json(await viewOf(api, caller, c.req.param('id')), 200);
  });
  routes.openapi(remove, async (c) => {
    const caller = c.get('caller');
    ownerOnly(caller);
    const deleted = await api.store.write(async (tx) => {
      const channel = await resolveChannel(tx, caller, c.req.param('id'), null);
      return { channelId: channel.id, ...(await deleteChannel(tx, channel, api.clock())) };
    });
    return c.json({ status: 'deleted' as const, ...deleted }, 200);
  });
  routes.openapi(messages, async (c) => {
    const { thread, ...query } = c.req.valid('query');
    const page = await api.store.read(async (tx) => {
      const { id } = await resolveChannel(tx, c.get('caller'), c.req.param('id'), null);
      const parent = await fullMessageId(tx, c.get('caller').id, thread ?? '');
      const { rows, nextCursor } = await readMessagePage(query, (part) =>
        thread === undefined
          ? tx.messages.listChannelMessages({ channelId: id, ...part })
          : tx.messages.listThreadMessages({ id: parent, ...part }),
      );
      const shown = thread === undefined ? rows : rows.filter((row) => row.channelId === id);
      return { items: await showMessages(tx, shown), nextCursor };
    });
    return c.json(page, 200);
  });
  routes.openapi(say, async (c) => {
    const wish = c.req.valid('json');
    const { text, parentMessageId } = wish;
    const attachments = bytesOf(wish.attachments);
    const caller = c.get('caller');
    const effect = async (tx: Tx) => {
      const now = api.clock();
      const channel = await resolveChannel(tx, caller, c.req.param('id'), now);
      const thread = parentMessageId && (await fullMessageId(tx, caller.id, parentMessageId));
      const speaker = { ...caller, run: null };
      return showSent(await speak(tx, api.rules, speaker, channel, { text, thread, attachments }, now));
    };
    const { value } = await once(api, c, wish, effect, `post in ${c.req.param('id')}`);
    return c.json(value, 201);
  });
  routes.openapi(read, async (c) => {
    const caller = c.get('caller');
    await withChannel(api, c.req.param('id'), caller, async (tx, { id: channelId }) => {
      const [newest] = await tx.messages.listChannelMessages({ channelId, before: Number.MAX_SAFE_INTEGER, limit: 1 });
      await tx.channels.raiseRead({ channelId, participantId: caller.id, seq: newest?.seq ?? 0 });
    });
    return c.json(await viewOf(api, caller, c.req.param('id')), 200);
  });
  routes.openapi(members, async (c) => c.json(await membersOf(api, c.get('caller'), c.req.param('id')), 200));
  routes.openapi(join, async (c) => {
    const { participant, wake } = c.req.valid('json');
    const caller = c.get('caller');
    await withChannel(api, c.req.param('id'), caller, async (tx, channel) => {
      const { id: participantId } = await visibleParticipant(tx, caller, participant);
      await addMember(tx, channel, caller.id, { participantId, wake }, api.clock());
    });
    return c.json(await membersOf(api, caller, c.req.param('id')), 201);
  });
  routes.openapi(tune, async (c) => {
    const caller = c.get('caller');
    const { id, participant } = c.req.valid('param');
    await withChannel(api, id, caller, async (tx, channel) => {
      const { id: participantId } = await visibleParticipant(tx, caller, participant);
      await setWake(tx, channel, caller.id, { participantId, wake: c.req.valid('json').wake }, api.clock());
    });
    return c.json(await membersOf(api, caller, id), 200);
  });
  routes.openapi(leave, async (c) => {
    const caller = c.get('caller');
    const { id, participant } = c.req.valid('param');
    await withChannel(api, id, caller, async (tx, channel) => {
      const { id: participantId } = await visibleParticipant(tx, caller, participant);
      await removeMember(tx, channel, caller.id, participantId, api.clock());
    });
    return c.json({ status: 'left' as const }, 200);
  });
  return routes;
}

function withChannel(
  api: Api,
  id: string,
  caller: Caller,
  work: (tx: Tx, channel: ChannelRecord) => Promise<void>,
): Promise<void> {
  return api.store.write(async (tx) => work(tx, await resolveChannel(tx, caller, id, null)));
}

function viewOf(api: Api, caller: Caller, id: string) {
  return api.store.read(async (tx) => {
    const channel = await resolveChannel(tx, caller, id, null);
    return showChannel((await tx.channels.getChannelView({ id: channel.id, participantId: caller.id })) as ChannelView);
  });
}

function membersOf(api: Api, caller: Caller, id: string) {
  return api.store.read(async (tx) => {
    const channel = await resolveChannel(tx, caller, id, null);
    const rows = await tx.channels.listMembers({ channelId: channel.id });
    return { items: rows.map(showMember), nextCursor: null };
  });
}
