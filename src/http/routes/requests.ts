import { z } from '@hono/zod-openapi';
import { ownerOnly } from '../access.ts';
import type { Api } from '../api.ts';
import { readCursor, writeCursor } from '../cursor.ts';
import { createRouter, describe, type Router } from '../router.ts';
import { pageOf, pageQuery, time } from '../schemas.ts';
import { showTime } from '../shown.ts';

const OpenRequest = z
  .strictObject({
    messageId: z.string(),
    from: z.string().openapi({ description: 'Handle of the participant who waits.' }),
    to: z.string().openapi({ description: 'Handle of the participant who is to answer.' }),
    createdAt: time,
    deadlineAt: time.nullable(),
  })
  .openapi('OpenRequest');

const list = describe(
  {
    method: 'get',
    path: '/',
    summary: 'List open requests, oldest first: who waits for whom.',
    request: { query: pageQuery({}) },
  },
  { status: 200, description: 'A page of open requests.', schema: pageOf(OpenRequest) },
);

export function requestRoutes(api: Api): Router {
  const routes = createRouter();
  routes.openapi(list, async (c) => {
    ownerOnly(c.get('caller'));
    const { cursor, limit } = c.req.valid('query');
    const after = cursor === undefined ? 0 : readCursor(cursor, ['number'])[0];
    const rows = await api.store.read((tx) => tx.requests.listOpenRequests({ after, limit: limit + 1 }));
    const page = rows.slice(0, limit);
    const items = page.map(({ createdAt, deadlineAt, messageId, from, to }) => ({
      messageId,
      from,
      to,
      createdAt: showTime(createdAt),
      deadlineAt: deadlineAt === null ? null : showTime(deadlineAt),
    }));
    return c.json({ items, nextCursor: rows.length > limit ? writeCursor(page.at(-1)?.seq ?? 0) : null }, 200);
  });
  return routes;
}
