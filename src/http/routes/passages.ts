import { z } from '@hono/zod-openapi';
import { SubstratError } from '../../core/errors.ts';
import { MAX_QUERY, TAG, TAG_RULE } from '../../core/memory.ts';
import { deletePassage, storePassage } from '../../memory/passages.ts';
import { EVERYTHING, searchPassages } from '../../memory/search.ts';
import { resolveReference } from '../../messaging/reference.ts';
import { searchMessages } from '../../messaging/search-messages.ts';
import { ownerOnly } from '../access.ts';
import type { Api } from '../api.ts';
import { readCursor, writeCursor } from '../cursor.ts';
import { fullId } from '../full-id.ts';
import { keyParameter, once } from '../once.ts';
import { createRouter, describe, type Router } from '../router.ts';
import { instant, Passage, PassageCreation, pageOf, pageQuery } from '../schemas.ts';
import { showPassage } from '../shown.ts';

const id = z.string().openapi({ description: 'REF: an id, a handle, a name or a path.' });
const params = z.strictObject({ id });
const Stored = z.strictObject({ passageId: z.string() }).openapi('PassageStored');
const Deleted = z.strictObject({ status: z.literal('deleted'), id: z.string() }).openapi('PassageDeleted');
const NONE = 'There is no such agent.';
const MANY = 'More than one agent has that name.';

const list = describe(
  {
    method: 'get',
    path: '/{id}/passages',
    summary: "List an agent's passages, newest first. With `q`, search them: best first, one page.",
    request: {
      params,
      query: pageQuery({
        q: z.string().min(1).max(MAX_QUERY).optional().openapi({ description: 'Search query, as for search_memory.' }),
        tag: z
          .string()
          .optional()
          .openapi({ description: 'Only passages with this tag; with all of them, separated by commas.' }),
        since: instant.optional(),
        until: instant.optional().openapi({ description: 'Only passages stored before this time.' }),
      }),
    },
  },
  { status: 200, description: 'A page of passages.', schema: pageOf(Passage) },
  { 404: NONE, 409: MANY },
);
const create = describe(
  {
    method: 'post',
    path: '/{id}/passages',
    summary: 'Store a passage for an agent.',
    parameters: [keyParameter],
    request: {
      params,
      body: { required: true, content: { 'application/json': { schema: PassageCreation } } },
    },
  },
  { status: 201, description: 'The id of the passage.', schema: Stored },
  { 404: NONE, 409: `${MANY} Or the idempotency key was used for another request.`, 410: 'The agent is terminated.' },
);
const remove = describe(
  {
    method: 'delete',
    path: '/{id}/passages/{passageId}',
    summary: 'Delete a passage.',
    request: { params: params.extend({ passageId: z.string() }) },
  },
  { status: 200, description: 'Deleted.', schema: Deleted },
  { 404: 'There is no such agent or passage.', 409: MANY },
);

export const Said = z
  .strictObject({
    messageId: z.string().nullable().openapi({ description: 'Null for the final text of a run.' }),
    channelId: z.string().nullable(),
    runId: z.string().nullable(),
    from: z.string(),
    text: z.string(),
    createdAt: z.string(),
  })
  .openapi('Said');
const said = describe(
  {
    method: 'get',
    path: '/{id}/said',
    summary: "Search an agent's channels, DMs and run texts, as search_messages does: best first, one page.",
    request: {
      params,
      query: z.strictObject({
        q: z.string().min(1).max(MAX_QUERY),
        limit: z.coerce.number().int().min(1).max(100).default(20),
        since: instant.optional(),
        until: instant.optional(),
      }),
    },
  },
  { status: 200, description: 'What was said.', schema: pageOf(Said) },
  { 404: NONE, 409: MANY },
);

export function passageRoutes(api: Api): Router {
  const routes = createRouter();
  routes.openapi(list, async (c) => {
    ownerOnly(c.get('caller'));
    const { cursor, limit, q, tag, since, until } = c.req.valid('query');
    const before = cursor === undefined ? Number.MAX_SAFE_INTEGER : readCursor(cursor, ['number'])[0];
    const { id: agentId } = await api.store.read((tx) => resolveReference(tx, c.req.valid('param').id));
    const filter = {
      agentId,
      tags: readTags(tag),
      since: since === undefined ? EVERYTHING.since : Date.parse(since),
      until: until === undefined ? EVERYTHING.until : Date.parse(until),
    };
    if (q !== undefined) {
      const found = await searchPassages(
        { store: api.store, meaning: api.passageMeaning },
        { ...filter, query: q, limit },
        c.req.raw.signal,
      );
      return c.json({ items: found.map(showPassage), nextCursor: null }, 200);
    }
    const rows = await api.store.read((tx) => tx.memory.listPassages({ ...filter, before, limit: limit + 1 }));
    const page = rows.slice(0, limit);
    const nextCursor = rows.length > limit ? writeCursor(page.at(-1)?.seq ?? 0) : null;
    return c.json({ items: page.map(showPassage), nextCursor }, 200);
  });
  routes.openapi(said, async (c) => {
    ownerOnly(c.get('caller'));
    const { q, limit, since, until } = c.req.valid('query');
    const { id: agentId } = await api.store.read((tx) => resolveReference(tx, c.req.valid('param').id));
    const wanted = {
      agentId,
      query: q,
      limit,
      since: since === undefined ? EVERYTHING.since : Date.parse(since),
      until: until === undefined ? EVERYTHING.until : Date.parse(until),
    };
    const found = await searchMessages(api.store, wanted, c.req.raw.signal);
    const items = found.map((one) => ({ ...one, createdAt: new Date(one.createdAt).toISOString() }));
    return c.json({ items, nextCursor: null }, 200);
  });
  routes.openapi(create, async (c) => {
    ownerOnly(c.get('caller'));
    const passage = c.req.valid('json');
    const { value } = await once(api, c, passage, async (tx) => {
      const agent = await resolveReference(tx, c.req.valid('param').id);
      if (agent.terminatedAt !== null) throw new SubstratError('terminated', `${agent.handle} is terminated.`);
      return { passageId: await storePassage(tx, agent.id, passage, api.clock()) };
    });
    return c.json(value, 201);
  });
  routes.openapi(remove, async (c) => {
    ownerOnly(c.get('caller'));
    const { id: ref } = c.req.valid('param');
    const passageId = await api.store.read((tx) => fullId(tx, 'passages', c.req.valid('param').passageId));
    await api.store.write(async (tx) =>
      deletePassage(tx, (await resolveReference(tx, ref)).id, passageId, api.clock()),
    );
    return c.json({ status: 'deleted' as const, id: passageId }, 200);
  });
  return routes;
}

function readTags(text: string | undefined): string[] {
  const tags = text === undefined ? [] : text.split(',');
  for (const tag of tags) if (!TAG.test(tag)) throw new SubstratError('bad_request', `tag: a tag ${TAG_RULE}.`);
  return tags;
}
