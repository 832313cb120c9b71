import { z } from '@hono/zod-openapi';
import { SubstratError } from '../../core/errors.ts';
import type { Message } from '../../core/message.ts';
import type { Run } from '../../core/run.ts';
import { shorten } from '../../core/text.ts';
import { followTrace } from '../../runs/trace.ts';
import type { Tx } from '../../store/store.ts';
import { ownerOnly } from '../access.ts';
import type { Api } from '../api.ts';
import { fullId } from '../full-id.ts';
import { createRouter, describe, type Router } from '../router.ts';
import { pageOf, SentMessage, Trace } from '../schemas.ts';
import { showTime } from '../shown.ts';

const params = z.strictObject({ id: z.string() });
const MOST_SENT = 500;
const MOST_SHOWN = 500;

const sent = describe(
  {
    method: 'get',
    path: '/{id}/sent',
    summary: 'List the messages that a run sent, in order; at most 500.',
    request: { params },
  },
  { status: 200, description: 'The messages.', schema: pageOf(SentMessage) },
  { 404: 'There is no such run.' },
);
const trace = describe(
  {
    method: 'get',
    path: '/{id}/trace',
    summary:
      'Follow the request that a run belongs to through all agents: what began it, and every run that it led to.',
    request: { params },
  },
  { status: 200, description: 'The trace.', schema: Trace },
  { 404: 'There is no such run.' },
);

export function traceRoutes(api: Api): Router {
  const routes = createRouter();
  routes.openapi(sent, async (c) => {
    ownerOnly(c.get('caller'));
    const rows = await api.store.read(async (tx) => {
      const run = await findRun(tx, c.req.valid('param').id);
      return tx.traces.listSent({ runId: run.id, limit: MOST_SENT });
    });
    return c.json({ items: rows.map(showSent), nextCursor: null }, 200);
  });
  routes.openapi(trace, async (c) => {
    ownerOnly(c.get('caller'));
    const { message, runs, complete, from } = await api.store.read(
      async (tx) => {
        const found = await followTrace(tx, await findRun(tx, c.req.valid('param').id));
        const author = found.message && (await tx.participants.getParticipantById({ id: found.message.authorId }));
        return { ...found, from: author?.handle ?? '' };
      },
      { long: true, signal: c.req.raw.signal },
    );
    const shown = {
      message: message && { ...showSent(message), from },
      runs: runs.map(({ id, handle, parentRunId, triggerId, state, attempt, error, ...run }) => ({
        run: id,
        agent: handle,
        parent: parentRunId,
        messageId: triggerId,
        state,
        attempt,
        error,
        tokens: run.inputTokens + run.outputTokens,
        costUsd: run.costUsd,
        createdAt: showTime(run.createdAt),
        startedAt: run.startedAt === null ? null : showTime(run.startedAt),
        endedAt: run.endedAt === null ? null : showTime(run.endedAt),
      })),
      complete,
    };
    return c.json(shown, 200);
  });
  return routes;
}

async function findRun(tx: Tx, id: string): Promise<Run> {
  const run = await tx.runs.getRun({ id: await fullId(tx, 'runs', id) });
  if (!run) throw new SubstratError('not_found', `There is no run ${shorten(id)}.`);
  return run;
}

function showSent({ id, channelId, kind, text, threadId, createdAt }: Message) {
  return {
    messageId: id,
    channelId,
    kind,
    text: text.slice(0, MOST_SHOWN),
    parentMessageId: threadId,
    createdAt: showTime(createdAt),
  };
}
