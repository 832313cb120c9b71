import { Hono } from 'hono';
import * as z from 'zod';
import { shorten } from '../../core/agent.ts';
import { SubstratError } from '../../core/errors.ts';
import type { RequestRow, Store } from '../../store/store.ts';
import type { Api } from '../api.ts';
import { parse } from '../body.ts';

const query = z.strictObject({ wait: z.coerce.number().min(0).max(60).default(0) });

export function messageRoutes(api: Api): Hono {
  const routes = new Hono();
  /** The replies to a message; with `wait`, not before its request is closed or the seconds are over. */
  routes.get('/:id/replies', async (c) => {
    const id = c.req.param('id');
    const { wait } = parse(query, c.req.query());
    const request = await closedRequest(api.store, id, wait * 1000, c.req.raw.signal);
    const items = await api.store.read((tx) => tx.listReplies({ id }));
    return c.json({
      state: request.state,
      items: items.map((row) => ({
        messageId: row.id,
        from: row.handle,
        text: row.text,
        kind: row.kind,
        late: row.late === 1,
        createdAt: new Date(row.created_at).toISOString(),
      })),
    });
  });
  return routes;
}

async function closedRequest(store: Store, id: string, waitMs: number, signal: AbortSignal): Promise<RequestRow> {
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
      if (!request) throw new SubstratError('not_found', `There is no request ${shorten(id)}.`);
      if (request.state === 'closed' || ended) return request;
      await look.promise;
    }
  } finally {
    unsubscribe();
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
  }
}
