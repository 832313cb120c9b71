import { z } from '@hono/zod-openapi';
import { ownerOnly } from '../access.ts';
import type { Api } from '../api.ts';
import { readCursor, writeCursor } from '../cursor.ts';
import { createRouter, describe, type Router } from '../router.ts';
import { Message, Participant, pageOf, pageQuery } from '../schemas.ts';
import { showMessage } from '../shown.ts';

const inbox = describe(
  {
    method: 'get',
    path: '/inbox',
    summary: 'What agents wrote to you, newest first; with `open`, only questions that wait for you.',
    request: { query: pageQuery({ open: z.enum(['true', 'false']).default('false') }) },
  },
  { status: 200, description: 'A page of messages.', schema: pageOf(Message) },
);
const participants = describe(
  {
    method: 'get',
    path: '/participants',
    summary: 'Everyone who can write, by handle.',
    request: { query: pageQuery({}) },
  },
  { status: 200, description: 'A page of participants.', schema: pageOf(Participant) },
);

export function peopleRoutes(api: Api): Router {
  const routes = createRouter();
  routes.openapi(inbox, async (c) => {
    const { cursor, limit, open } = c.req.valid('query');
    const before = cursor === undefined ? Number.MAX_SAFE_INTEGER : readCursor(cursor, ['number'])[0];
    const page = { participantId: c.get('caller').id, before, limit: limit + 1 };
    const rows = await api.store.read((tx) => (open === 'true' ? tx.listOpenQuestions(page) : tx.listInbox(page)));
    const items = rows.slice(0, limit);
    const nextCursor = rows.length > limit ? writeCursor(items.at(-1)?.seq ?? 0) : null;
    return c.json({ items: items.map(showMessage), nextCursor }, 200);
  });
  routes.openapi(participants, async (c) => {
    ownerOnly(c.get('caller'));
    const { cursor, limit } = c.req.valid('query');
    const after = cursor === undefined ? '' : readCursor(cursor, ['string'])[0];
    const rows = await api.store.read((tx) => tx.listParticipants({ after, limit: limit + 1 }));
    const page = rows.slice(0, limit);
    const items = page.map(({ id, kind, handle }) => ({ id, kind: kind as 'agent' | 'person', handle }));
    const nextCursor = rows.length > limit ? writeCursor(page.at(-1)?.handle_key ?? '') : null;
    return c.json({ items, nextCursor }, 200);
  });
  return routes;
}
