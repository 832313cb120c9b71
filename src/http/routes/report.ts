import { z } from '@hono/zod-openapi';
import { USER_ID } from '../../core/agent.ts';
import type { BudgetView } from '../../core/budget.ts';
import { agentStatus, type StatusKind } from '../../core/status.ts';
import type { Tx } from '../../store/store.ts';
import { ownerOnly } from '../access.ts';
import type { Api } from '../api.ts';
import { showBudget } from '../budget.ts';
import { showEvidence } from '../evidence.ts';
import { showQuestion } from '../question.ts';
import { createRouter, describe, type Router } from '../router.ts';
import { instant, Report } from '../schemas.ts';
import { showTime } from '../shown.ts';

const DEFAULT_MS = 8 * 3_600_000;
const MOST_AGENTS = 1000;
const MOST_QUESTIONS = 200;
const MOST_FAILURES = 20;
const MOST_EVIDENCE = 200;
/** Nothing but a person ends these. */
const NEEDS_YOU: ReadonlySet<StatusKind> = new Set(['stalled', 'looping', 'stopped', 'stranded']);

const get = describe(
  {
    method: 'get',
    path: '/',
    summary:
      'Report what ran, what was asked and answered, what it cost against its budget, what is proven, and what waits for you.',
    request: { query: z.strictObject({ since: instant.optional().openapi({ description: 'Default: 8 hours ago.' }) }) },
  },
  { status: 200, description: 'The report.', schema: Report },
);

export function reportRoutes(api: Api): Router {
  const routes = createRouter();
  routes.openapi(get, async (c) => {
    ownerOnly(c.get('caller'));
    const now = api.clock();
    const { since } = c.req.valid('query');
    const from = since === undefined ? now - DEFAULT_MS : Date.parse(since);
    const sandboxed = api.workspaces.inForce;
    const report = await api.store.read(
      async (tx) => build(tx, { from, now, sandboxed, budgets: await api.budgets.list(tx) }),
      {
        long: true,
        signal: c.req.raw.signal,
      },
    );
    return c.json(report, 200);
  });
  return routes;
}

async function build(
  tx: Tx,
  {
    from,
    now,
    sandboxed,
    budgets,
  }: {
    readonly from: number;
    readonly now: number;
    readonly sandboxed: boolean;
    readonly budgets: readonly BudgetView[];
  },
) {
  const work = await tx.reports.listWork({ since: from, limit: MOST_AGENTS });
  const failed = await tx.runs.listRuns({ agentId: null, state: 'failed', before: null, limit: MOST_FAILURES });
  const newest = { participantId: null, before: Number.MAX_SAFE_INTEGER, limit: MOST_QUESTIONS };
  const asked = await tx.questions.listQuestions({ ...newest, open: false });
  const open = await tx.questions.listQuestions({ ...newest, open: true });
  const isOpen = new Set(open.map(({ id }) => id));
  const requests = await tx.requests.listOpenRequests({ after: 0, limit: MOST_AGENTS });
  const agents = await tx.agents.listAgentViews({ after: null, limit: MOST_AGENTS, all: false });
  const evidence = await tx.evidence.listEvidenceSince({ since: from, limit: MOST_EVIDENCE });
  const standing = agents.map((view) => ({ agent: view.handle, status: agentStatus(view, now) }));
  const sum = (field: keyof (typeof work)[number]) => work.reduce((total, row) => total + Number(row[field]), 0);
  return {
    since: showTime(from),
    until: showTime(now),
    total: {
      runs: sum('runs'),
      completed: sum('completed'),
      failed: sum('failed'),
      cancelled: sum('cancelled'),
      inputTokens: sum('inputTokens'),
      outputTokens: sum('outputTokens'),
      costUsd: sum('costUsd'),
    },
    agents: work.map(({ agentId, handle, ...row }) => ({ agent: handle, ...row })),
    budgets: budgets.filter(isTouched).map(showBudget),
    evidence: evidence.map((one) => ({
      agent: one.handle,
      run: one.runId,
      messageId: one.messageId,
      ...showEvidence(one),
    })),
    failures: failed
      .filter(({ endedAt }) => (endedAt ?? 0) >= from)
      .map(({ id, handle, error, endedAt }) => ({ run: id, agent: handle, error, at: showTime(endedAt ?? 0) })),
    questions: asked
      .filter(({ createdAt, settledAt }) => createdAt >= from || (settledAt ?? 0) >= from)
      .map((view) => showQuestion(view, { sandboxed })),
    waiting: {
      questions: open.map((view) => showQuestion(view, { sandboxed })),
      requests: requests
        .filter(({ to, messageId }) => to === USER_ID && !isOpen.has(messageId))
        .map(({ messageId, from: asker, createdAt }) => ({ messageId, from: asker, createdAt: showTime(createdAt) })),
      turns: standing.flatMap(({ agent, status }) =>
        status && NEEDS_YOU.has(status.kind) ? [{ agent, state: status.kind, reason: status.reason }] : [],
      ),
      paused: agents
        .filter(({ pausedAt }) => pausedAt !== null)
        .map((view) => ({ agent: view.handle, reason: view.pausedReason ?? '', at: showTime(view.pausedAt ?? 0) })),
    },
  };
}

/** A new tree's default limit says nothing before something is used of it. */
function isTouched({ origin, used, reserved, waiting }: BudgetView): boolean {
  return origin !== 'default' || used > 0 || reserved > 0 || waiting > 0;
}
