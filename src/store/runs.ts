import { type ExpressionBuilder, sql } from 'kysely';
import { SubstratError } from '../core/errors.ts';
import { newId } from '../core/id.ts';
import type { Run, RunState } from '../core/run.ts';
import { inSpan } from '../core/tracing.ts';
import type { BatchState } from './batch.ts';
import type { LeaseQueries } from './leases.ts';
import type { Queries } from './query.ts';
import type { Schema } from './schema.ts';
import { mayBegin } from './trees.ts';
import type { Runs } from './tx.ts';
import type { Claimant, ClaimFilter, FailedAttempt, NewOpenRun, RunCursor, RunEnd, RunHold, RunSeen } from './views.ts';

export function runQueries(queries: Queries, batch: BatchState): Omit<Runs, keyof LeaseQueries> {
  const { db, all, one, value, put, change, attempt, fetch } = queries;
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
      createdAt: p.createdAt,
      startedAt: p.startedAt,
      incarnation: p.incarnation,
    }),
  );
  const end = attempt((p: RunSeen & RunEnd) =>
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
        endedAt: p.now,
      }))
      .where('id', '=', p.id)
      .where('fence', '=', p.fence)
      .where('state', 'in', ['created', 'running']),
  );
  const retry = attempt((p: RunSeen & FailedAttempt) =>
    db
      .updateTable('runs')
      .set((eb) => ({
        state: 'created',
        failures: p.failures,
        error: p.error,
        notBefore: p.notBefore,
        failedAt: p.now,
        fence: eb('fence', '+', 1),
        leaseUntil: null,
        pid: null,
        pidStarted: null,
      }))
      .where('id', '=', p.id)
      .where('fence', '=', p.fence)
      .where('state', '=', 'running'),
  );
  const wakeable = one((p: { agentId: string }) =>
    db
      .selectFrom('agents')
      .select(['agents.id', 'agents.treeId', 'agents.nodeId'])
      .where('agents.id', '=', p.agentId)
      .where(hasWork),
  );
  const wakeableAgents = all((p: { nodeId: string }) =>
    db
      .selectFrom('agents')
      .select(['agents.id', 'agents.treeId', 'agents.nodeId'])
      .where('agents.nodeId', '=', p.nodeId)
      .where(hasWork),
  );
  const nextRun = (p: ClaimFilter & Claimant) =>
    db
      .selectFrom('runs')
      .innerJoin('agents', 'agents.id', 'runs.agentId')
      .innerJoin('trees', 'trees.id', 'runs.treeId')
      .selectAll('runs')
      .where('runs.state', '=', sql.lit('created'))
      .where('runs.nodeId', '=', p.nodeId)
      .where((eb) => eb.not(eb.exists(heldByOthers(eb, p))))
      .where('runs.notBefore', '<=', p.now)
      .where('agents.restUntil', '<=', p.now)
      .where('agents.pausedAt', 'is', null)
      // A run that has already started may finish regardless of the cap, because requests wait for it.
      .where((eb) => eb.or([eb('runs.attempt', '>', 0), mayBegin(eb, p)]))
      .$if(p.suspectFrom !== null, (q) => q.where((eb) => isAllowed(eb, p)))
      .$if(p.busyAgents.length > 0, (q) => q.where('runs.agentId', 'not in', [...p.busyAgents]))
      .$if(p.fullProviders.length > 0, (q) => q.where('agents.provider', 'not in', [...p.fullProviders]))
      // The tree with the fewest running turns, then the one that has waited longest.
      .orderBy((eb) =>
        eb
          .selectFrom('runs as busy')
          .select((q) => q.fn.countAll().as('n'))
          .whereRef('busy.treeId', '=', 'runs.treeId')
          .where('busy.state', '=', sql.lit('running'))
          .where('busy.nodeId', '=', p.nodeId),
      )
      .orderBy('trees.lastClaim')
      .orderBy('runs.seq')
      .orderBy('runs.id')
      .limit(1)
      // Writers are serial, but a person's own transaction on the database is not one of them: never wait for its
      // lock.
      .$if(queries.engine === 'postgres', (q) => q.forUpdate(['runs']).skipLocked());
  const startClaimed = one((p: { id: string; now: number; leaseUntil: number; boot: string; incarnation: string }) =>
    db
      .updateTable('runs')
      .set((eb) => ({
        state: 'running',
        attempt: eb('attempt', '+', 1),
        fence: eb('fence', '+', 1),
        leaseUntil: p.leaseUntil,
        startedAt: eb.fn.coalesce('startedAt', sql<number>`${p.now}`),
        pid: null,
        pidStarted: null,
        deaths: sql<number>`case when boot = ${p.boot} then deaths else 0 end`,
        deathsEver: sql<number>`case when boot = ${p.boot} then deaths_ever else 0 end`,
        recordsAtDeath: sql<number>`case when boot = ${p.boot} then records_at_death else 0 end`,
        boot: p.boot,
        incarnation: p.incarnation,
      }))
      .where('id', '=', p.id)
      .where('state', '=', 'created')
      .returningAll(),
  );
  const countClaim = put((p: { treeId: string; seq: number; started: number }) =>
    db
      .updateTable('trees')
      .set((eb) => ({ lastClaim: p.seq, runsSincePerson: eb('runsSincePerson', '+', p.started) }))
      .where('id', '=', p.treeId),
  );
  const usage = one((p: { agentId: string }) =>
    db
      .selectFrom('runs')
      .select((eb) => [
        eb.fn.countAll<number>().as('runs'),
        eb.fn.sum<number>('inputTokens').as('input'),
        eb.fn.sum<number>('outputTokens').as('output'),
        eb.fn.sum<number>('costUsd').as('cost'),
      ])
      .where('agentId', '=', p.agentId),
  );
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

  return {
    /**
     * Creates a run for the agent if it has something to do and no run of it is live. Requests and replies always
     * wake it, and so do people in a channel; news wakes an agent that waits for no other agent. People answer when
     * they come back, so a question to a person does not hold back news. An external agent is never woken: its
     * program reads the inbox.
     */
    wakeAgent: async (p: { agentId: string; now: number }): Promise<void> => {
      const agent = await wakeable({ agentId: p.agentId });
      if (agent) await inSpan('wake', { 'gen_ai.agent.id': agent.id }, () => enqueue(agent, p.now));
    },
    wakeAllAgents: async (p: { nodeId: string; now: number }): Promise<void> => {
      for (const agent of await wakeableAgents({ nodeId: p.nodeId })) await enqueue(agent, p.now);
    },
    claimRun: async (p: ClaimFilter & Claimant & { leaseMs: number }): Promise<Run | null> => {
      const [next] = await fetch(nextRun(p));
      if (!next) return null;
      const { now, boot, incarnation } = p;
      const claimed = await startClaimed({ id: next.id, now, leaseUntil: now + p.leaseMs, boot, incarnation });
      await countClaim({ treeId: next.treeId, seq: batch.seq + 1, started: next.attempt === 0 ? 1 : 0 });
      return claimed;
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
      return open;
    },
    getRun: one((p: { id: string }) => db.selectFrom('runs').selectAll().where('id', '=', p.id)),
    /** Newest first, older than the cursor. */
    listRuns: (p: { agentId: string | null; state: RunState | null; before: RunCursor | null; limit: number }) =>
      fetch(
        db
          .selectFrom('runs')
          .innerJoin('agents', 'agents.id', 'runs.agentId')
          .selectAll('runs')
          .select('agents.handle')
          .$if(p.agentId !== null, (q) => q.where('runs.agentId', '=', p.agentId ?? ''))
          .$if(p.state !== null, (q) => q.where('runs.state', '=', p.state as RunState))
          .$if(p.before !== null, (q) =>
            q
              .where('runs.seq', '<=', p.before?.seq ?? 0) // where the index starts
              .where((eb) => eb.or([eb('runs.seq', '<', p.before?.seq ?? 0), eb('runs.id', '<', p.before?.id ?? '')])),
          )
          .orderBy('runs.seq', 'desc')
          .orderBy('runs.id', 'desc')
          .limit(p.limit),
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
    addUsage: change('run', (p: { id: string; inputTokens: number; outputTokens: number; costUsd: number }) =>
      db
        .updateTable('runs')
        .set((eb) => ({
          inputTokens: eb('inputTokens', '+', p.inputTokens),
          outputTokens: eb('outputTokens', '+', p.outputTokens),
          costUsd: eb('costUsd', '+', p.costUsd),
        }))
        .where('id', '=', p.id),
    ),
    /** Totals by agent, tree or day (in UTC, as its number since 1970), the most expensive or the latest first. */
    listUsage: async (p: { by: 'agent' | 'tree' | 'day'; since: number; until: number; limit: number }) => {
      const rows = await fetch(
        db
          .selectFrom('runs')
          .innerJoin('agents', 'agents.id', p.by === 'tree' ? 'runs.treeId' : 'runs.agentId')
          .select((eb) => [
            (p.by === 'day' ? sql<string>`cast(runs.created_at / 86400000 as text)` : sql<string>`agents.handle`).as(
              'key',
            ),
            eb.fn.countAll<number>().as('runs'),
            eb.fn.sum<number>('runs.inputTokens').as('input'),
            eb.fn.sum<number>('runs.outputTokens').as('output'),
            eb.fn.sum<number>('runs.costUsd').as('cost'),
          ])
          .where('runs.createdAt', '>=', p.since)
          .where('runs.createdAt', '<', p.until)
          .groupBy(p.by === 'day' ? sql`runs.created_at / 86400000` : 'agents.handle')
          .orderBy(p.by === 'day' ? sql`runs.created_at / 86400000` : 'cost', 'desc')
          .limit(p.limit),
      );
      return rows.map((row) => ({
        key: row.key,
        runs: Number(row.runs),
        inputTokens: Number(row.input),
        outputTokens: Number(row.output),
        costUsd: Number(row.cost),
      }));
    },
    getUsage: async (p: {
      agentId: string;
    }): Promise<{ runs: number; inputTokens: number; outputTokens: number; costUsd: number }> => {
      const sums = await usage(p);
      return {
        runs: Number(sums?.runs ?? 0),
        inputTokens: Number(sums?.input ?? 0),
        outputTokens: Number(sums?.output ?? 0),
        costUsd: Number(sums?.cost ?? 0),
      };
    },
    /** Ends a run for good and raises its fence, so that nothing its attempt still sends counts. */
    endRun: async (p: RunSeen & RunEnd) => {
      if (!(await end(p))) throw fenced();
    },
    /** Ends an attempt: the run waits for the next one. */
    retryRun: async (p: RunSeen & FailedAttempt) => {
      if (!(await retry(p))) throw fenced();
      batch.runnable = true;
    },
    listCompleted: all((p: { agentId: string; after: number; limit: number }) =>
      db
        .selectFrom('runs')
        .selectAll()
        .where('agentId', '=', p.agentId)
        .where('seq', '>', p.after)
        .where('state', '=', 'completed')
        .orderBy('seq', 'desc')
        .limit(p.limit),
    ),
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

function fenced(): SubstratError {
  return new SubstratError('fenced', 'The turn has ended; its tools can no longer be called.');
}

/** The node drains, or another daemon is this node now. A node that has not registered may claim. */
function heldByOthers(eb: ExpressionBuilder<Schema, 'runs'>, p: Claimant) {
  return eb
    .selectFrom('nodes')
    .select('nodes.id')
    .where('nodes.id', '=', p.nodeId)
    .where((node) =>
      node.or([node('nodes.drainingAt', 'is not', null), node('nodes.incarnation', '<>', p.incarnation)]),
    );
}

/** Not a suspect, or the only one that would be running. */
function isAllowed(eb: ExpressionBuilder<Schema, 'runs'>, p: ClaimFilter) {
  const suspects = eb
    .selectFrom('runs as suspects')
    .select('suspects.id')
    .where('suspects.state', '=', sql.lit('running'))
    .where('suspects.nodeId', '=', p.nodeId)
    .where('suspects.deaths', '>=', p.suspectFrom ?? 0);
  return eb.or([eb('runs.deaths', '<', p.suspectFrom ?? 0), eb.not(eb.exists(suspects))]);
}

/** Ready, living, not paused, without a live run, and with something to carry. */
function hasWork(eb: ExpressionBuilder<Schema, 'agents'>) {
  const pending = () =>
    eb
      .selectFrom('deliveries')
      .select('deliveries.messageId')
      .whereRef('deliveries.agentId', '=', 'agents.id')
      .where('deliveries.state', '=', 'pending')
      .where('deliveries.round', '<', 2);
  const awaited = pending().where((d) => d.or([d('deliveries.kind', '<>', 'news'), d('deliveries.round', '=', 1)]));
  const news = pending().where('deliveries.round', '>=', 0);
  const live = eb
    .selectFrom('runs')
    .select('runs.id')
    .whereRef('runs.agentId', '=', 'agents.id')
    .where('runs.state', 'in', ['created', 'running']);
  const asking = eb
    .selectFrom('requests')
    .innerJoin('agents as asked', 'asked.id', 'requests.recipientId')
    .select('requests.messageId')
    .whereRef('requests.askerId', '=', 'agents.id')
    .where('requests.state', '=', 'open');
  return eb.and([
    eb('agents.ready', '=', true),
    eb('agents.terminatedAt', 'is', null),
    eb('agents.provider', '<>', 'external'),
    eb('agents.pausedAt', 'is', null),
    eb.not(eb.exists(live)),
    eb.or([eb.exists(awaited), eb.and([eb.exists(news), eb.not(eb.exists(asking))])]),
  ]);
}

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
    notBefore: 0,
    failedAt: null,
    leaseUntil: null,
    pid: null,
    pidStarted: null,
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
