import { type ExpressionBuilder, sql } from 'kysely';
import { newId } from '../core/id.ts';
import type { Run, RunState } from '../core/run.ts';
import { bound, inSpan } from '../core/tracing.ts';
import type { BatchState } from './batch.ts';
import { chargeClosing } from './budgets.ts';
import type { ClaimQueries } from './claims.ts';
import { hasWork } from './eligibility.ts';
import type { LeaseQueries } from './leases.ts';
import type { Queries } from './query.ts';
import { fenced, type ReopeningQueries } from './reopening.ts';
import type { Schema } from './schema.ts';
import type { Runs } from './tx.ts';
import type { UsageQueries } from './usage.ts';
import type { NewOpenRun, RunCursor, RunEnd, RunHold, RunRetry, RunSeen } from './views.ts';

/** Nothing is known about the progress of an attempt that has not begun. */
const WORKING = { progress: null, progressReason: null, progressSince: null, patientUntil: null } as const;

export function runQueries(
  queries: Queries,
  batch: BatchState,
): Omit<Runs, keyof ClaimQueries | keyof LeaseQueries | keyof ReopeningQueries | keyof UsageQueries> {
  const closeCharges = chargeClosing(queries);
  const { db, all, one, value, count, put, putAnd, change, must, fetch } = queries;
  const insertRun = put((p: Run) =>
    db.insertInto('runs').values({
      id: p.id,
      seq: p.seq,
      agentId: p.agentId,
      treeId: p.treeId,
      nodeId: p.nodeId,
      state: p.state,
      attempt: p.attempt,
      failures: 0,
      fence: p.fence,
      chainDepth: 0,
      inputTokens: 0,
      outputTokens: 0,
      costUsd: 0,
      notBefore: 0,
      deaths: 0,
      deathsEver: 0,
      recordsAtDeath: 0,
      pokes: 0,
      createdAt: p.createdAt,
      startedAt: p.startedAt,
      incarnation: p.incarnation,
    }),
  );
  const end = must(
    (p: RunSeen & RunEnd) =>
      db
        .updateTable('runs')
        .set((eb) => ({
          state: p.state,
          stopReason: p.stopReason,
          error: p.error,
          finalText: p.finalText,
          fence: eb('fence', '+', 1),
          leaseUntil: null,
          pid: null,
          pidStarted: null,
          budgetId: null,
          budgetUntil: null,
          ...WORKING,
          endedAt: p.now,
        }))
        .where('id', '=', p.id)
        .where('fence', '=', p.fence)
        .where('state', 'in', ['created', 'running']),
    fenced,
  );
  const retry = must(
    (p: RunSeen & RunRetry) =>
      db
        .updateTable('runs')
        .set((eb) => ({
          state: 'created',
          failures: p.failures,
          error: p.error,
          notBefore: p.notBefore,
          failedAttempts: p.failedAttempts,
          failedAt: p.now,
          fence: eb('fence', '+', 1),
          leaseUntil: null,
          pid: null,
          pidStarted: null,
          ...WORKING,
        }))
        .where('id', '=', p.id)
        .where('fence', '=', p.fence)
        .where('state', '=', 'running'),
    fenced,
  );
  const wake = putAnd(
    (p: { id: string; seq: number; agentId: string; now: number; woken: () => void }) =>
      db
        .insertInto('runs')
        .columns(['id', 'seq', 'agentId', 'treeId', 'nodeId', 'state', ...NEW, 'createdAt'])
        .expression(
          db
            .selectFrom('agents')
            .select([
              sql<string>`cast(${p.id} as text)`.as('id'),
              sql<number>`cast(${p.seq} as bigint)`.as('seq'),
              'agents.id as agentId',
              'agents.treeId',
              'agents.nodeId',
              sql<RunState>`'created'`.as('state'),
              ...NEW.map((name) => sql<number>`0`.as(name)),
              sql<number>`cast(${p.now} as bigint)`.as('createdAt'),
            ])
            .where('agents.id', '=', p.agentId)
            .where(hasWork),
        ),
    ({ woken }) => {
      batch.runnable = true;
      woken();
    },
  );
  const wakeableAgents = all((p: { nodeId: string }) =>
    db
      .selectFrom('agents')
      .select(['agents.id', 'agents.treeId', 'agents.nodeId'])
      .where('agents.nodeId', '=', p.nodeId)
      .where(hasWork),
  );
  const run = one((p: { id: string }) => db.selectFrom('runs').selectAll().where('id', '=', p.id));
  const held = one((p: RunHold) =>
    db
      .selectFrom('runs')
      .selectAll()
      .where('id', '=', p.runId)
      .where('fence', '=', p.fence)
      .where('state', '=', 'running'),
  );
  const enqueue = async (agent: { id: string; treeId: string; nodeId: string }, now: number): Promise<void> => {
    await insertRun(newRun({ agentId: agent.id, treeId: agent.treeId, nodeId: agent.nodeId, seq: batch.seq, now }));
    batch.runnable = true;
  };

  const completedAfter = (p: { agentId: string; after: number; limit: number }) =>
    db
      .selectFrom('runs')
      .where('agentId', '=', p.agentId)
      .where('seq', '>', p.after)
      .where('state', '=', 'completed')
      .orderBy('seq', 'desc')
      .limit(p.limit);
  const completed = all((p: { agentId: string; after: number; before: number; limit: number }) =>
    completedAfter(p).selectAll().where('seq', '<', p.before),
  );
  return {
    /**
     * Creates a run for the agent if it has something to do and no run of it is live. Requests and replies always
     * wake it, and so do people in a channel; news wakes an agent that waits for no other agent. People answer when
     * they come back, so a question to a person does not hold back news. An external agent is never woken: its
     * program reads the inbox.
     */
    wakeAgent: async (p: { agentId: string; now: number }): Promise<void> => {
      const woken = bound(() => void inSpan('wake', { 'gen_ai.agent.id': p.agentId }, async () => {}));
      await wake({ id: newId(), seq: batch.seq, agentId: p.agentId, now: p.now, woken });
    },
    listSleepers: wakeableAgents,
    wakeAllAgents: async (p: { nodeId: string; now: number }): Promise<void> => {
      for (const agent of await wakeableAgents({ nodeId: p.nodeId })) await enqueue(agent, p.now);
    },
    /** The open-ended run of an external agent: running from the start, without a slot or a lease. */
    insertOpenRun: async (p: NewOpenRun): Promise<Run> => {
      const open: Run = {
        ...newRun({ ...p, seq: batch.seq }),
        state: 'running',
        attempt: 1,
        fence: 1,
        startedAt: p.now,
        incarnation: p.incarnation,
      };
      await insertRun(open);
      return (await run({ id: open.id })) as Run;
    },
    getRun: run,
    /** Newest first, older than the cursor. */
    listRuns: (p: { agentId: string | null; state: RunState | null; before: RunCursor | null; limit: number }) =>
      fetch(
        db
          .selectFrom('runs')
          .innerJoin('agents', 'agents.id', 'runs.agentId')
          .selectAll('runs')
          .select('agents.handle')
          .$if(p.agentId !== null, (q) => q.where('runs.agentId', '=', p.agentId ?? ''))
          .$if(p.state !== null, (q) => q.where((eb) => isIn(eb, p.state as RunState)))
          .$if(p.before !== null, (q) =>
            q
              .where('runs.seq', '<=', p.before?.seq ?? 0) // where the index starts
              .where((eb) => eb.or([eb('runs.seq', '<', p.before?.seq ?? 0), eb('runs.id', '<', p.before?.id ?? '')])),
          )
          // Those that live are few, so they are sorted: SQLite would rather read all runs in their order.
          .orderBy(p.state === 'created' || p.state === 'running' ? sql`+runs.seq` : 'runs.seq', 'desc')
          .orderBy('runs.id', 'desc')
          .limit(p.limit),
      ),
    /** How many runs of an agent have served a request. */
    countServing: count((p: { agentId: string; serves: string }) =>
      db
        .selectFrom('runs')
        .select((eb) => eb.fn.countAll<number>().as('n'))
        .where('agentId', '=', p.agentId)
        .where('serves', '=', p.serves),
    ),
    getLiveRun: one((p: { agentId: string }) =>
      db.selectFrom('runs').selectAll().where('agentId', '=', p.agentId).where('state', 'in', ['created', 'running']),
    ),
    /** The run if the attempt still holds it. Every write of an attempt makes this check. */
    holdRun: async (hold: RunHold): Promise<Run> => {
      const row = await held(hold);
      if (!row) throw fenced();
      return row;
    },
    setRunStart: change(
      'run',
      (p: {
        id: string;
        serves: string | null;
        triggerId: string | null;
        chainDepth: number;
        payerId: string | null;
      }) =>
        db
          .updateTable('runs')
          .set({ serves: p.serves, triggerId: p.triggerId, chainDepth: p.chainDepth, payerId: p.payerId })
          .where('id', '=', p.id),
    ),
    setRunProcess: change('run', (p: { id: string; pid: number; startedAt: string }) =>
      db.updateTable('runs').set({ pid: p.pid, pidStarted: p.startedAt }).where('id', '=', p.id),
    ),
    /** Ends a run for good and raises its fence, so that nothing its attempt still sends counts. */
    endRun: async (p: RunSeen & RunEnd) => {
      await end(p);
      await closeCharges({ runId: p.id });
    },
    /** Ends an attempt: the run waits for the next one. */
    retryRun: async (p: RunSeen & RunRetry) => {
      await retry(p);
      await closeCharges({ runId: p.id });
      batch.runnable = true;
    },
    listPast: all((p: { agentId: string; after: number; limit: number; longest: number }) =>
      completedAfter(p).select(['id', sql<string | null>`substr(final_text, 1, ${p.longest})`.as('finalText')]),
    ),
    listCompleted: async (p) => completed({ before: Number.MAX_SAFE_INTEGER, ...p }),
    listRunning: all((p: { nodeId: string }) =>
      db.selectFrom('runs').selectAll().where('state', '=', 'running').where('nodeId', '=', p.nodeId),
    ),
    /** When the next delayed run may start. */
    getNextStart: value((p: { nodeId: string; now: number }) =>
      db
        .selectFrom('runs')
        .innerJoin('agents', 'agents.id', 'runs.agentId')
        .select((eb) =>
          eb.fn
            .min(
              eb
                .case()
                .when('runs.notBefore', '>', eb.ref('agents.restUntil'))
                .then(eb.ref('runs.notBefore'))
                .else(eb.ref('agents.restUntil'))
                .end(),
            )
            .as('at'),
        )
        .where('runs.state', '=', 'created')
        .where('runs.nodeId', '=', p.nodeId)
        .where((eb) => eb.or([eb('runs.notBefore', '>', p.now), eb('agents.restUntil', '>', p.now)])),
    ),
  };
}

/** As the conditions of the partial indexes have it: all but the completed, which most are, have one of their own. */
function isIn(eb: ExpressionBuilder<Schema, 'runs'>, state: RunState) {
  const alike = ALIKE.find((states) => states.includes(state)) ?? [];
  return eb.and([
    eb('runs.state', '=', sql.lit(state)),
    ...(alike.length > 0
      ? [
          eb(
            'runs.state',
            'in',
            alike.map((one) => sql.lit(one)),
          ),
        ]
      : []),
  ]);
}

const ALIKE: readonly (readonly RunState[])[] = [
  ['created', 'running'],
  ['failed', 'cancelled'],
];

/** The columns of a new run that are 0, in the order in which they are inserted. */
const NEW = [
  ...(['attempt', 'failures', 'fence', 'chainDepth', 'inputTokens', 'outputTokens', 'costUsd', 'notBefore'] as const),
  ...(['deaths', 'deathsEver', 'recordsAtDeath', 'pokes'] as const),
];

function newRun(p: { agentId: string; treeId: string; nodeId: string; seq: number; now: number }): Run {
  return {
    id: newId(),
    seq: p.seq,
    agentId: p.agentId,
    treeId: p.treeId,
    nodeId: p.nodeId,
    state: 'created',
    attempt: 0,
    failures: 0,
    fence: 0,
    serves: null,
    triggerId: null,
    chainDepth: 0,
    payerId: null,
    stopReason: null,
    error: null,
    finalText: null,
    inputTokens: 0,
    outputTokens: 0,
    costUsd: 0,
    usageGrade: null,
    notBefore: 0,
    budgetId: null,
    budgetUntil: null,
    failedAt: null,
    failedAttempts: null,
    pokes: 0,
    leaseUntil: null,
    pid: null,
    pidStarted: null,
    ...WORKING,
    toldAttempt: null,
    deaths: 0,
    deathsEver: 0,
    recordsAtDeath: 0,
    boot: null,
    incarnation: null,
    createdAt: p.now,
    startedAt: null,
    endedAt: null,
  };
}
