import { z } from '@hono/zod-openapi';
import type { Agent } from '../../core/agent.ts';
import { USER_ID } from '../../core/agent.ts';
import { SubstratError } from '../../core/errors.ts';
import { type Expected, LABEL, LABEL_RULE } from '../../core/memory.ts';
import { deleteBlock, knownBlock, restoreBlock, seenBlock, shareBlock, writeBlock } from '../../memory/blocks.ts';
import { resolveReference } from '../../messaging/reference.ts';
import type { BlockView, Tx } from '../../store/store.ts';
import { ownerOnly } from '../access.ts';
import type { Api } from '../api.ts';
import { readCursor, writeCursor } from '../cursor.ts';
import { etagOf, versionsIn } from '../etags.ts';
import { createRouter, describe, type Router } from '../router.ts';
import { Block, BlockChange, BlockRestoration, BlockSharing, BlockText, pageOf, pageQuery } from '../schemas.ts';
import { showBlock, showBlockChange } from '../shown.ts';

const label = z.string().regex(LABEL, LABEL_RULE).openapi({ example: 'personality' });
const headers = z.object({
  'if-match': z
    .string()
    .max(400)
    .optional()
    .openapi({ description: 'ETags, or *: change the block only if it has one of these versions.' }),
  'if-none-match': z
    .literal('*')
    .optional()
    .openapi({ description: '*: create only; do not change an existing block.' }),
});
const body = <S extends z.ZodType>(schema: S) => ({ required: true, content: { 'application/json': { schema } } });
const Deleted = z.strictObject({ status: z.literal('deleted'), label: z.string() }).openapi('BlockDeleted');

const NONE = 'There is no such agent, or no such block.';
const MANY = 'More than one agent has that name.';
const CHANGE = {
  404: NONE,
  409: MANY,
  410: 'The agent is terminated.',
  412: 'The block has another version.',
  422: 'A cap.',
};

/** The blocks that an agent sees (`/api/agents/{id}/memory`), or the owner's own (`/api/memory`). */
export function memoryRoutes(api: Api, whose: 'agent' | 'owner'): Router {
  const routes = createRouter();
  const [root, of] = whose === 'agent' ? (['/{id}/memory', 'an agent can see'] as const) : (['/', 'you own'] as const);
  const path = whose === 'agent' ? '/{id}/memory/{label}' : '/{label}';
  const id = z.string().openapi({ description: 'REF: an id, a handle, a name or a path.' });
  const reader = (whose === 'agent' ? z.strictObject({ id }) : z.strictObject({})) as z.ZodObject<{ id: typeof id }>;
  const params = reader.extend({ label });

  const list = describe(
    { method: 'get', path: root, summary: `List the blocks ${of}, oldest first.`, request: { params: reader } },
    { status: 200, description: 'All of them.', schema: pageOf(Block) },
    { 404: NONE, 409: MANY },
  );
  const get = describe(
    { method: 'get', path, summary: `Get one of the blocks ${of}.`, request: { params } },
    { status: 200, description: 'The block; its ETag is its version.', schema: Block },
    { 404: NONE, 409: MANY },
  );
  const put = describe(
    {
      method: 'put',
      path,
      summary: `Create one of the blocks ${of}, or set its text.`,
      request: { params, headers, body: body(BlockText) },
    },
    { status: 200, description: 'The updated block.', schema: Block },
    CHANGE,
  );
  const remove = describe(
    {
      method: 'delete',
      path,
      summary: `Delete one of the blocks ${of}. Its history is kept.`,
      request: { params, headers },
    },
    { status: 200, description: 'Deleted; it is no longer in any prompt.', schema: Deleted },
    CHANGE,
  );
  const history = describe(
    {
      method: 'get',
      path: `${path}/history`,
      summary: 'List every version of a block, newest first.',
      request: { params, query: pageQuery({}) },
    },
    { status: 200, description: 'A page of versions.', schema: pageOf(BlockChange) },
    { 404: NONE, 409: MANY },
  );
  const restore = describe(
    {
      method: 'post',
      path: `${path}/restore`,
      summary: 'Restore an earlier version of a block.',
      request: { params, headers, body: body(BlockRestoration) },
    },
    { status: 200, description: 'The updated block.', schema: Block },
    { ...CHANGE, 409: 'That version is a deletion, or more than one agent has that name.' },
  );
  const share = describe(
    {
      method: 'put',
      path: `${path}/sharing`,
      summary: 'Set the agents a block is shared with.',
      request: { params, body: body(BlockSharing) },
    },
    { status: 200, description: 'The updated block.', schema: Block },
    {
      ...CHANGE,
      409: 'One of the agents can already see another block with that label, or more than one agent has that name.',
    },
  );

  /** Whose memory it is. A terminated agent's memory can be read but not changed. */
  const readerOf = async (tx: Tx, ref: string | undefined, change = false): Promise<string> => {
    if (whose === 'owner') return USER_ID;
    const agent: Agent = await resolveReference(tx, ref ?? '');
    if (change && agent.terminatedAt !== null) {
      throw new SubstratError('terminated', `${agent.handle} is terminated; its memory can only be read.`);
    }
    return agent.id;
  };
  const show = async (tx: Tx, block: BlockView) =>
    showBlock(block, await tx.memory.listBlockReaders({ blockId: block.id }));

  routes.openapi(list, async (c) => {
    ownerOnly(c.get('caller'));
    const items = await api.store.read(async (tx) => {
      const blocks = await tx.memory.listSeenBlocks({ readerId: await readerOf(tx, c.req.valid('param').id) });
      return Promise.all(blocks.map((block) => show(tx, block)));
    });
    return c.json({ items, nextCursor: null }, 200);
  });
  routes.openapi(get, async (c) => {
    ownerOnly(c.get('caller'));
    const { id: ref, label: name } = c.req.valid('param');
    const block = await api.store.read(async (tx) => show(tx, await seenBlock(tx, await readerOf(tx, ref), name)));
    return c.json(block, 200, { etag: etagOf(block.version) });
  });
  routes.openapi(put, async (c) => {
    ownerOnly(c.get('caller'));
    const { id: ref, label: name } = c.req.valid('param');
    const expected = expectedBy(c.req.valid('header'));
    const block = await api.store.write(async (tx) => {
      const change = { readerId: await readerOf(tx, ref, true), label: name, by: USER_ID, expected };
      return show(tx, await writeBlock(tx, change, c.req.valid('json').text, api.clock()));
    });
    return c.json(block, 200, { etag: etagOf(block.version) });
  });
  routes.openapi(remove, async (c) => {
    ownerOnly(c.get('caller'));
    const { id: ref, label: name } = c.req.valid('param');
    const expected = expectedBy(c.req.valid('header'));
    await api.store.write(async (tx) => {
      const change = { readerId: await readerOf(tx, ref, true), label: name, by: USER_ID, expected };
      await deleteBlock(tx, change, api.clock());
    });
    return c.json({ status: 'deleted' as const, label: name }, 200);
  });
  routes.openapi(history, async (c) => {
    ownerOnly(c.get('caller'));
    const { id: ref, label: name } = c.req.valid('param');
    const { cursor, limit } = c.req.valid('query');
    const before = cursor === undefined ? Number.MAX_SAFE_INTEGER : readCursor(cursor, ['number'])[0];
    const rows = await api.store.read(async (tx) => {
      const block = await knownBlock(tx, await readerOf(tx, ref), name);
      return tx.memory.listBlockChanges({ blockId: block.id, before, limit: limit + 1 });
    });
    const items = rows.slice(0, limit).map(showBlockChange);
    return c.json({ items, nextCursor: rows.length > limit ? writeCursor(items.at(-1)?.version ?? 0) : null }, 200);
  });
  routes.openapi(restore, async (c) => {
    ownerOnly(c.get('caller'));
    const { id: ref, label: name } = c.req.valid('param');
    const expected = expectedBy(c.req.valid('header'));
    const block = await api.store.write(async (tx) => {
      const change = { readerId: await readerOf(tx, ref, true), label: name, by: USER_ID, expected };
      return show(tx, await restoreBlock(tx, change, c.req.valid('json').version, api.clock()));
    });
    return c.json(block, 200, { etag: etagOf(block.version) });
  });
  routes.openapi(share, async (c) => {
    ownerOnly(c.get('caller'));
    const { id: ref, label: name } = c.req.valid('param');
    const wish = c.req.valid('json');
    const block = await api.store.write(async (tx) => {
      const readerId = await readerOf(tx, ref, true);
      const agentIds: string[] = [];
      for (const one of wish.with) agentIds.push((await resolveReference(tx, one)).id);
      const sharing = { agentIds, open: wish.open };
      return show(tx, await shareBlock(tx, await seenBlock(tx, readerId, name), sharing, api.clock()));
    });
    return c.json(block, 200, { etag: etagOf(block.version) });
  });
  return routes;
}

/** The precondition in the headers. An unknown ETag matches no version. */
function expectedBy(given: { 'if-match'?: string | undefined; 'if-none-match'?: '*' | undefined }): Expected | null {
  if (given['if-none-match'] !== undefined) return 'none';
  const match = given['if-match'];
  if (match === undefined) return null;
  return versionsIn(match) ?? 'any';
}
