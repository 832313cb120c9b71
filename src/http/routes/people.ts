import { z } from '@hono/zod-openapi';
import type { Api } from '../api.ts';
import { readCursor, writeCursor } from '../cursor.ts';
import { readMessagePage } from '../page.ts';
import { createRouter, describe, type Router } from '../router.ts';
import { Message, Participant, pageOf, pageQuery } from '../schemas.ts';
import { showMessages } from '../shown.ts';

const inbox = describe(
  {
    method: 'get',
    path: '/inbox',
    summary: 'List messages from agents to you, newest first. With `open`, only open questions.',
    request: { query: pageQuery({ open: z.enum(['true', 'false']).default('false') }) },
  },
  { status: 200, description: 'A page of messages.', schema: pageOf(Message) },
);
const participants = describe(
  {
    method: 'get',
    path: '/participants',
    summary: 'List participants by handle. People other than the owner see those who share a channel with them.',
    request: { query: pageQuery({}) },
  },
  { status: 200, description: 'A page of participants.', schema: pageOf(Participant) },
);

export function peopleRoutes(api: Api): Router {
  const routes = createRouter();
  routes.openapi(inbox, async (c) => {
    const { open, ...query } = c.req.valid('query');
    const participantId = c.get('caller').id;
    const page = await api.store.read(async (tx) => {
      const { rows, nextCursor } = await readMessagePage(query, (part) =>
        open === 'true'
          ? tx.messages.listOpenQuestions({ participantId, ...part })
          : tx.messages.listInbox({ participantId, ...part }),
      );
      return { items: await showMessages(tx, rows), nextCursor };
    });
    return c.json(page, 200);
  });
  routes.openapi(participants, async (c) => {
    const { cursor, limit } = c.req.valid('query');
    const caller = c.get('caller');
    const after = cursor === undefined ? '' : readCursor(cursor, ['string'])[0];
    const whole = { after, limit: limit + 1 };
    const rows = await api.store.read((tx) =>
      caller.owner
        ? tx.participants.listParticipants(whole)
        : tx.participants.listAcquaintances({ participantId: caller.id, ...whole }),
    );
    const page = rows.slice(0, limit);
    const items = page.map(({ id, kind, handle }) => ({ id, kind: kind as 'agent' | 'person', handle }));
    const nextCursor = rows.length > limit ? writeCursor(page.at(-1)?.handleKey ?? '') : null;
    return c.json({ items, nextCursor }, 200);
  });
  return routes;
}
