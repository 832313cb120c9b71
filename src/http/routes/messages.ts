import { z } from '@hono/zod-openapi';
import { shorten } from '../../core/agent.ts';
import { SubstratError } from '../../core/errors.ts';
import type { MessageView, Store, Tx } from '../../store/store.ts';
import type { Caller } from '../access.ts';
import type { Api } from '../api.ts';
import { createRouter, describe, type Router } from '../router.ts';
import { Message } from '../schemas.ts';
import { showMessage } from '../shown.ts';

const params = z.strictObject({ id: z.string() });
const Replies = z
  .strictObject({ state: z.enum(['open', 'closed']).nullable(), items: z.array(Message) })
  .openapi('Replies');

const get = describe(
  { method: 'get', path: '/{id}', summary: 'One message.', request: { params } },
  { status: 200, description: 'The message.', schema: Message },
  { 404: 'There is no such message.' },
);
const replies = describe(
  {
    method: 'get',
    path: '/{id}/replies',
    summary: 'The replies to a message; with `wait`, not before its request is closed or the seconds are over.',
    request: { params, query: z.strictObject({ wait: z.coerce.number().min(0).max(60).default(0) }) },
  },
  { status: 200, description: 'Whether the request is open, and what came.', schema: Replies },
  { 404: 'There is no such message.' },
);

export function messageRoutes(api: Api): Router {
  const routes = createRouter();
  routes.openapi(get, async (c) => {
    const message = await api.store.read((tx) => visibleMessage(tx, c.get('caller'), c.req.valid('param').id));
    return c.json(showMessage(message), 200);
  });
  routes.openapi(replies, async (c) => {
    const { id } = c.req.valid('param');
    const { wait } = c.req.valid('query');
    await api.store.read((tx) => visibleMessage(tx, c.get('caller'), id));
    const state = await stateAfter(api.store, id, wait * 1000, c.req.raw.signal);
    const items = await api.store.read((tx) => tx.listReplies({ id }));
    return c.json({ state, items: items.map(showMessage) }, 200);
  });
  return routes;
}

/** What a caller may not see does not exist for it. */
async function visibleMessage(tx: Tx, caller: Caller, id: string): Promise<MessageView> {
  const message = await tx.getMessageView({ id });
  const visible =
    message && (caller.owner || (await tx.isMember({ channelId: message.channel_id, participantId: caller.id })));
  if (!visible) throw new SubstratError('not_found', `There is no message ${shorten(id)}.`);
  return message;
}

/** The state of the request when it is closed, or the wait is over; null for what is no request. */
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
  try {
    for (;;) {
      look = Promise.withResolvers<void>();
      const request = await store.read((tx) => tx.getRequest({ id }));
      if (!request) return null;
      if (request.state === 'closed' || ended) return request.state;
      await look.promise;
    }
  } finally {
    unsubscribe();
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
  }
}
