import { z } from '@hono/zod-openapi';
import { SubstratError } from '../../core/errors.ts';
import { deleteMessage, editMessage } from '../../messaging/edit.ts';
import { react, unreact, visibleMessage } from '../../messaging/reactions.ts';
import type { MessageView, Store } from '../../store/store.ts';
import type { Caller } from '../access.ts';
import type { Api } from '../api.ts';
import { AttachedFile } from '../attachments.ts';
import { fullMessageId } from '../full-id.ts';
import { createRouter, describe, type Router } from '../router.ts';
import { Message, MessageEdit, pageOf, Reaction } from '../schemas.ts';
import { showMessages } from '../shown.ts';

const params = z.strictObject({ id: z.string() });
const Replies = z
  .strictObject({ state: z.enum(['open', 'closed']).nullable(), items: z.array(Message) })
  .openapi('Replies');

const get = describe(
  { method: 'get', path: '/{id}', summary: 'Get a message.', request: { params } },
  { status: 200, description: 'The message.', schema: Message },
  { 404: 'There is no such message.' },
);
const replies = describe(
  {
    method: 'get',
    path: '/{id}/replies',
    summary:
      'Get the replies to a message. With `wait`, returns when the request is closed or after that many seconds.',
    request: { params, query: z.strictObject({ wait: z.coerce.number().min(0).max(60).default(0) }) },
  },
  { status: 200, description: 'Whether the request is open, and the replies.', schema: Replies },
  { 404: 'There is no such message.' },
);

const body = <S extends z.ZodType>(schema: S) => ({ content: { 'application/json': { schema } }, required: true });
const OWN = { 404: 'There is no such message.', 410: 'Deleted.' };
const edit = describe(
  {
    method: 'patch',
    path: '/{id}',
    summary: 'Edit one of your messages.',
    request: { params, body: body(MessageEdit) },
  },
  { status: 200, description: 'The message.', schema: Message },
  OWN,
);
const remove = describe(
  { method: 'delete', path: '/{id}', summary: 'Delete one of your messages.', request: { params } },
  {
    status: 200,
    description: 'Deleted; its text is empty.',
    schema: z.strictObject({ status: z.literal('deleted'), messageId: z.string() }),
  },
  OWN,
);
const reactions = describe(
  { method: 'get', path: '/{id}/reactions', summary: 'List the reactions to a message.', request: { params } },
  {
    status: 200,
    description: 'Each emoji with the participants who chose it.',
    schema: pageOf(Message.shape.reactions.element),
  },
  { 404: 'There is no such message.' },
);
const attachment = describe(
  {
    method: 'get',
    path: '/{id}/attachments/{position}',
    summary: 'Get a file that a message carries.',
    request: { params: z.strictObject({ id: z.string(), position: z.coerce.number().int().min(0) }) },
  },
  {
    status: 200,
    description: 'The file. Positions count from 0.',
    schema: AttachedFile,
  },
  { 404: 'There is no such message, or no such file.' },
);
const addReaction = describe(
  {
    method: 'post',
    path: '/{id}/reactions',
    summary: 'React to a message.',
    request: { params, body: body(Reaction) },
  },
  { status: 201, description: 'The message.', schema: Message },
  OWN,
);
const removeReaction = describe(
  {
    method: 'delete',
    path: '/{id}/reactions/{emoji}',
    summary: 'Remove a reaction.',
    request: { params: z.strictObject({ id: z.string(), emoji: z.string() }) },
  },
  { status: 200, description: 'The message.', schema: Message },
  { 404: 'There is no such message.' },
);

export function messageRoutes(api: Api): Router {
  const routes = createRouter();
  const given = (caller: Caller, { id }: { readonly id: string }): Promise<string> =>
    api.store.read((tx) => fullMessageId(tx, caller.id, id));
  routes.openapi(get, async (c) => {
    const caller = c.get('caller');
    return c.json(await shownMessage(api, caller, await given(caller, c.req.valid('param'))), 200);
  });
  routes.openapi(replies, async (c) => {
    const id = await given(c.get('caller'), c.req.valid('param'));
    const { wait } = c.req.valid('query');
    await api.store.read((tx) => visibleMessage(tx, c.get('caller').id, id));
    const state = await stateAfter(api.store, id, wait * 1000, c.req.raw.signal);
    const items = await api.store.read(async (tx) => showMessages(tx, await tx.messages.listReplies({ id })));
    return c.json({ state, items }, 200);
  });
  routes.openapi(edit, async (c) => {
    const caller = c.get('caller');
    const id = await given(caller, c.req.valid('param'));
    await api.store.write((tx) => editMessage(tx, caller.id, id, c.req.valid('json').text, api.clock()));
    return c.json(await shownMessage(api, caller, id), 200);
  });
  routes.openapi(remove, async (c) => {
    const id = await given(c.get('caller'), c.req.valid('param'));
    await api.store.write((tx) => deleteMessage(tx, c.get('caller').id, id, api.clock()));
    return c.json({ status: 'deleted' as const, messageId: id }, 200);
  });
  routes.openapi(reactions, async (c) => {
    const caller = c.get('caller');
    const { reactions: items } = await shownMessage(api, caller, await given(caller, c.req.valid('param')));
    return c.json({ items, nextCursor: null }, 200);
  });
  routes.openapi(attachment, async (c) => {
    const { position } = c.req.valid('param');
    const id = await given(c.get('caller'), c.req.valid('param'));
    const shown = await api.store.read(async (tx) => {
      await visibleMessage(tx, c.get('caller').id, id);
      const [found] = (await tx.attachments.listAttachments({ messageIds: [id] })).filter(
        (one) => one.position === position,
      );
      const file = found && (await tx.attachments.getFile({ hash: found.hash }));
      if (!file) throw new SubstratError('not_found', `The message ${id} has no file ${position}.`);
      const { name, mediaType, size, hash } = found;
      return { name, mediaType, size, hash, data: Buffer.from(file.bytes).toString('base64') };
    });
    return c.json(shown, 200);
  });
  routes.openapi(addReaction, async (c) => {
    const caller = c.get('caller');
    const id = await given(caller, c.req.valid('param'));
    await api.store.write((tx) => react(tx, caller.id, id, c.req.valid('json').emoji, api.clock()));
    return c.json(await shownMessage(api, caller, id), 201);
  });
  routes.openapi(removeReaction, async (c) => {
    const { emoji } = c.req.valid('param');
    const caller = c.get('caller');
    const id = await given(caller, c.req.valid('param'));
    await api.store.write((tx) => unreact(tx, caller.id, id, emoji, api.clock()));
    return c.json(await shownMessage(api, caller, id), 200);
  });
  return routes;
}

function shownMessage(api: Api, caller: Caller, id: string) {
  return api.store.read(async (tx) => {
    await visibleMessage(tx, caller.id, id);
    const [shown] = await showMessages(tx, [(await tx.messages.getMessageView({ id })) as MessageView]);
    return shown as NonNullable<typeof shown>;
  });
}

const RETRY_MS = 500;

/** The state of the request once it is closed or the wait is over; null if it is not a request. */
async function stateAfter(
  store: Store,
  id: string,
  waitMs: number,
  signal: AbortSignal,
): Promise<'open' | 'closed' | null> {
  let look = Promise.withResolvers<void>();
  let ended = waitMs === 0;
  const end = (): void => {
    ended = true;
    look.resolve();
  };
  const timer = setTimeout(end, waitMs);
  signal.addEventListener('abort', end);
  const unsubscribe = store.onChange(() => look.resolve());
  // A temporary store error does not end the wait; at its end it is reported.
  const getRequest = async () => {
    try {
      return await store.read((tx) => tx.requests.getRequest({ id }));
    } catch (error) {
      if (ended || !(error instanceof SubstratError && error.code === 'store')) throw error;
      setTimeout(() => look.resolve(), RETRY_MS).unref();
      return undefined;
    }
  };
  try {
    for (;;) {
      look = Promise.withResolvers<void>();
      const request = await getRequest();
      if (request === null) return null;
      if (request && (request.state === 'closed' || ended)) return request.state;
      await look.promise;
    }
  } finally {
    unsubscribe();
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
  }
}
