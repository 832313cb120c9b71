import { z } from '@hono/zod-openapi';
import { SubstratError } from '../../core/errors.ts';
import { shorten } from '../../core/text.ts';
import { resolveReference } from '../../messaging/reference.ts';
import { ownerOnly } from '../access.ts';
import type { Api } from '../api.ts';
import { readCursor, writeCursor } from '../cursor.ts';
import { showEvidence } from '../evidence.ts';
import { fullId } from '../full-id.ts';
import { readPage } from '../page.ts';
import { createRouter, describe, type Router } from '../router.ts';
import { streamRun } from '../run-stream.ts';
import {
  AttemptUsage,
  CarriedMessage,
  Evidence,
  FailedAttempt,
  label,
  pageOf,
  pageQuery,
  Run,
  RunMessage,
  RunStep,
} from '../schemas.ts';
import { showFailedAttempt, showRun, showTime } from '../shown.ts';

const params = z.strictObject({ id: z.string() });
const states = z.enum(['created', 'running', 'completed', 'failed', 'cancelled']);
const RunDetail = z
  .strictObject({
    ...Run.shape,
    usageByAttempt: z.array(AttemptUsage),
    failedAttempts: z
      .array(FailedAttempt)
      .openapi({ description: 'Attempts that another one followed, with why each failed; at most the last 20.' }),
    evidence: z.array(Evidence).openapi({ description: 'What its messages claim, and what checks found.' }),
    steps: z.array(RunStep),
    messages: z.array(RunMessage),
  })
  .openapi('RunDetail');
const Cancelled = z.strictObject({ status: z.literal('cancelled'), runId: z.string() }).openapi('Cancelled');
const Restarted = z.strictObject({ status: z.literal('restarted'), runId: z.string() }).openapi('Restarted');
const Extended = z
  .strictObject({ status: z.literal('extended'), runId: z.string(), until: z.string() })
  .openapi('Extended');
const Extension = z
  .strictObject({
    minutes: z
      .int()
      .min(1)
      .max(10_080)
      .optional()
      .openapi({ description: 'No message is sent for this time. Default: 30.' }),
  })
  .openapi('Extension');

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
const restart = describe(
  {
    method: 'post',
    path: '/{id}/restart',
    summary: 'End the attempt in progress and start the turn again. The attempt does not count as failed.',
    request: { params },
  },
  { status: 200, description: 'Restarted.', schema: Restarted },
  { 404: 'There is no such run.', 409: 'It is not running.' },
);
const extend = describe(
  {
    method: 'post',
    path: '/{id}/extend',
    summary: 'Do not tell of missing progress for some time. Nothing else changes.',
    request: { params, body: { content: { 'application/json': { schema: Extension } } } },
  },
  { status: 200, description: 'Extended.', schema: Extended },
  { 404: 'There is no such run.', 409: 'It is not running.' },
);

const carried = describe(
  {
    method: 'get',
    path: '/{id}/carried',
    summary: 'List the messages that a run was given, in order, with the state of their delivery. `dead`: it was lost.',
    request: { params },
  },
  { status: 200, description: 'The messages.', schema: pageOf(CarriedMessage) },
  { 404: 'There is no such run.' },
);
const MOST_SHOWN = 2000;

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
    const { run, agent, used, evidence } = await api.store.read(async (tx) => {
      const run = await tx.runs.getRun({ id: await fullId(tx, 'runs', id) });
      return {
        run,
        agent: run && (await tx.agents.getAgent({ id: run.agentId })),
        used: run ? await tx.runs.listRunUsage({ runId: run.id }) : [],
        evidence: run ? await tx.evidence.listEvidenceOfRun({ runId: run.id }) : [],
      };
    });
    if (!run || !agent) throw new SubstratError('not_found', `There is no run ${shorten(id)}.`);
    const shown = {
      ...showRun({ ...run, handle: agent.handle }),
      usageByAttempt: used.map(({ runId: _, ...counted }) => counted),
      failedAttempts: (run.failedAttempts ?? []).map(showFailedAttempt),
      evidence: evidence.map(showEvidence),
    };
    const stream = streamRun(api.store, shown, used);
    return c.body(stream, 200, { 'content-type': 'application/json' }) as never;
  });
  routes.openapi(carried, async (c) => {
    ownerOnly(c.get('caller'));
    const { id } = c.req.valid('param');
    const rows = await api.store.read(async (tx) => {
      const run = await tx.runs.getRun({ id: await fullId(tx, 'runs', id) });
      if (!run) throw new SubstratError('not_found', `There is no run ${shorten(id)}.`);
      return tx.deliveries.listDeliveriesOfRun({ runId: run.id });
    });
    const items = rows.map(({ messageId, channelId, authorHandle, text, state, requestState }) => ({
      messageId,
      channelId,
      from: authorHandle,
      text: text.slice(0, MOST_SHOWN),
      state,
      request: requestState,
    }));
    return c.json({ items, nextCursor: null }, 200);
  });
  routes.openapi(cancel, async (c) => {
    ownerOnly(c.get('caller'));
    const id = await api.store.read((tx) => fullId(tx, 'runs', c.req.valid('param').id));
    await api.cancelRun(id, 'A person cancelled the run.');
    return c.json({ status: 'cancelled' as const, runId: id }, 200);
  });
  routes.openapi(restart, async (c) => {
    ownerOnly(c.get('caller'));
    const id = await api.store.read((tx) => fullId(tx, 'runs', c.req.valid('param').id));
    await api.restartRun(id);
    return c.json({ status: 'restarted' as const, runId: id }, 200);
  });
  routes.openapi(extend, async (c) => {
    ownerOnly(c.get('caller'));
    const id = await api.store.read((tx) => fullId(tx, 'runs', c.req.valid('param').id));
    const until = api.clock() + (c.req.valid('json').minutes ?? 30) * 60_000;
    await api.extendRun(id, until);
    return c.json({ status: 'extended' as const, runId: id, until: showTime(until) }, 200);
  });
  return routes;
}
