import { z } from '@hono/zod-openapi';
import { SubstratError } from '../../core/errors.ts';
import { shorten } from '../../core/text.ts';
import { resolveReference } from '../../messaging/reference.ts';
import { ownerOnly } from '../access.ts';
import type { Api } from '../api.ts';
import { readCursor, writeCursor } from '../cursor.ts';
import { readPage } from '../page.ts';
import { createRouter, describe, type Router } from '../router.ts';
import { streamRun } from '../run-stream.ts';
import { label, pageOf, pageQuery, Run, RunMessage, RunStep } from '../schemas.ts';
import { showRun } from '../shown.ts';

const params = z.strictObject({ id: z.string() });
const states = z.enum(['created', 'running', 'completed', 'failed', 'cancelled']);
const RunDetail = Run.extend({ steps: z.array(RunStep), messages: z.array(RunMessage) }).openapi('RunDetail');
const Cancelled = z.strictObject({ status: z.literal('cancelled'), runId: z.string() }).openapi('Cancelled');

const list = describe(
  {
    method: 'get',
    path: '/',
    summary: 'List runs, newest first.',
    request: { query: pageQuery({ agent: label.optional(), state: states.optional() }) },
  },
  { status: 200, description: 'A page of runs.', schema: pageOf(Run) },
  { 404: 'There is no such agent.', 409: 'More than one agent has that name.' },
);
const get = describe(
  { method: 'get', path: '/{id}', summary: 'Get a run with all of its steps.', request: { params } },
  { status: 200, description: 'The run.', schema: RunDetail },
  { 404: 'There is no such run.' },
);
const cancel = describe(
  { method: 'post', path: '/{id}/cancel', summary: 'Cancel a run. This cannot be undone.', request: { params } },
  { status: 200, description: 'Cancelled.', schema: Cancelled },
  { 404: 'There is no such run.', 409: 'It has ended already.' },
);

export function runRoutes(api: Api): Router {
  const routes = createRouter();
  routes.openapi(list, async (c) => {
    ownerOnly(c.get('caller'));
    const { cursor, limit, agent, state } = c.req.valid('query');
    const [seq, id] = cursor === undefined ? [0, ''] : readCursor(cursor, ['number', 'string']);
    const start = cursor === undefined ? null : { seq, id };
    const { rows, more } = await api.store.read(async (tx) => {
      const agentId = agent === undefined ? null : (await resolveReference(tx, agent)).id;
      return readPage(
        { limit, start },
        (before, count) => tx.runs.listRuns({ agentId, state: state ?? null, before, limit: count }),
        {
          placeOf: (row) => ({ seq: row.seq, id: row.id }),
          sizeOf: (row) => (row.finalText?.length ?? 0) + (row.error?.length ?? 0),
        },
      );
    });
    const last = rows.at(-1);
    const nextCursor = more && last ? writeCursor(last.seq, last.id) : null;
    return c.json({ items: rows.map(showRun), nextCursor }, 200);
  });
  routes.openapi(get, async (c) => {
    ownerOnly(c.get('caller'));
    const { id } = c.req.valid('param');
    const { run, agent } = await api.store.read(async (tx) => {
      const run = await tx.runs.getRun({ id });
      return { run, agent: run && (await tx.agents.getAgent({ id: run.agentId })) };
    });
    if (!run || !agent) throw new SubstratError('not_found', `There is no run ${shorten(id)}.`);
    const stream = streamRun(api.store, showRun({ ...run, handle: agent.handle }));
    return c.body(stream, 200, { 'content-type': 'application/json' }) as never;
  });
  routes.openapi(cancel, async (c) => {
    ownerOnly(c.get('caller'));
    const { id } = c.req.valid('param');
    await api.cancelRun(id, 'A person cancelled the run.');
    return c.json({ status: 'cancelled' as const, runId: id }, 200);
  });
  return routes;
}
