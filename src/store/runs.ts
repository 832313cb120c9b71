import { type ExpressionBuilder, sql } from 'kysely';
import { SubstratError } from '../core/errors.ts';
import { newId } from '../core/id.ts';
import type { RunState, StopReason } from '../core/run.ts';
import { inSpan } from '../core/tracing.ts';
import type { BatchState } from './commits.ts';
import { mayBegin } from './payers.ts';
import type { Queries } from './query.ts';
import type { RunRow, Schema } from './schema.ts';

/** A run as its attempt holds it: every write of the attempt shows the fence. */
export interface RunHold {
  readonly runId: string;
  readonly fence: number;
}

export function runQueries(queries: Queries, batch: BatchState) {
  const { db, all, one, run, fetch } = queries;
  const insertRun = run((p: RunRow) =>
    db.insertInto('runs').values({
      id: p.id,
      seq: p.seq,
      agent_id: p.agent_id,
      tree_id: p.tree_id,
      node_id: p.node_id,
      state: p.state,
      attempt: p.attempt,
      failures: 0,
      fence: p.fence,
      chain_depth: 0,
      input_tokens: 0,
      output_tokens: 0,
      cost_usd: 0,
      not_before: 0,
      deaths: 0,
      deaths_ever: 0,
      records_at_death: 0,
      created_at: p.created_at,
      started_at: p.started_at,
    }),
  );
  const retry = run((p: { id: string; failures: number; error: string; notBefore: number }) =>
    db
      .updateTable('runs')
      .set((eb) => ({
        state: 'created',
        failures: p.failures,
        error: p.error,
        not_before: p.notBefore,
        fence: eb('fence', '+', 1),
        lease_until: null,
        pid: null,
        pid_started: null,
      }))
      .where('id', '=', p.id)
      .where('state', '=', 'running'),
  );
  const resetTree = run((p: { treeId: string }) =>
    db
      .updateTable('trees')
      .set({ runs_since_person: 0, told_paused: 0 })
      .where('id', '=', p.treeId)
      .where('runs_since_person', '>', 0),
  );
  const wakeable = one((p: { agentId: string }) =>
    db
      .selectFrom('agents')
      .select(['agents.id', 'agents.tree_id', 'agents.node_id'])
      .where('agents.id', '=', p.agentId)
      .where(hasWork),
  );
  const wakeableAgents = all((p: { nodeId: string }) =>
    db
      .selectFrom('agents')
      .select(['agents.id', 'agents.tree_id', 'agents.node_id'])
      .where('agents.node_id', '=', p.nodeId)
      .where(hasWork),
  );
  const nextRun = (p: ClaimFilter) =>
    db
      .selectFrom('runs')
      .innerJoin('agents', 'agents.id', 'runs.agent_id')
      .innerJoin('trees', 'trees.id', 'runs.tree_id')
      .selectAll('runs')
      .where('runs.state', '=', sql.lit('created'))
      .where('runs.node_id', '=', p.nodeId)
      .where('runs.not_before', '<=', p.now)
      .where('agents.rest_until', '<=', p.now)
      .where('agents.paused_at', 'is', null)
      // A run that has started once may end, whatever the cap: its requests wait for it.
      .where((eb) => eb.or([eb('runs.attempt', '>', 0), mayBegin(eb, p)]))
      .$if(p.suspectFrom !== null, (q) => q.where((eb) => isAllowed(eb, p)))
      .$if(p.busyAgents.length > 0, (q) => q.where('runs.agent_id', 'not in', [...p.busyAgents]))
      .$if(p.fullProviders.length > 0, (q) => q.where('agents.provider', 'not in', [...p.fullProviders]))
      // The tree with the fewest turns under way, then the one that has waited longest.
      .orderBy((eb) =>
        eb
          .selectFrom('runs as busy')
          .select((q) => q.fn.countAll().as('n'))
          .whereRef('busy.tree_id', '=', 'runs.tree_id')
          .where('busy.state', '=', sql.lit('running'))
          .where('busy.node_id', '=', p.nodeId),
      )
      .orderBy('trees.last_claim')
      .orderBy('runs.seq')
      .orderBy('runs.id')
      .limit(1)
      // Writers are serial, but a person at the database's prompt is no writer of ours: never wait behind their lock.
      .$if(queries.engine === 'postgres', (q) => q.forUpdate(['runs']).skipLocked());
  const startClaimed = one((p: { id: string; now: number; leaseUntil: number; boot: string }) =>
    db
      .updateTable('runs')
      .set((eb) => ({
        state: 'running',
        attempt: eb('attempt', '+', 1),
        fence: eb('fence', '+', 1),
        lease_until: p.leaseUntil,
        started_at: eb.fn.coalesce('started_at', sql<number>`${p.now}`),
        pid: null,
        pid_started: null,
        deaths: sql<number>`case when boot = ${p.boot} then deaths else 0 end`,
        deaths_ever: sql<number>`case when boot = ${p.boot} then deaths_ever else 0 end`,
        records_at_death: sql<number>`case when boot = ${p.boot} then records_at_death else 0 end`,
        boot: p.boot,
      }))
      .where('id', '=', p.id)
      .where('state', '=', 'created')
      .returningAll(),
  );
  const countClaim = run((p: { treeId: string; seq: number; started: number }) =>
    db
      .updateTable('trees')
      .set((eb) => ({ last_claim: p.seq, runs_since_person: eb('runs_since_person', '+', p.started) }))
      .where('id', '=', p.treeId),
  );
  const usage = one((p: { agentId: string }) =>
    db
      .selectFrom('runs')
      .select((eb) => [
        eb.fn.countAll<number>().as('runs'),
        eb.fn.sum<number>('input_tokens').as('input'),
        eb.fn.sum<number>('output_tokens').as('output'),
        eb.fn.sum<number>('cost_usd').as('cost'),
      ])
      .where('agent_id', '=', p.agentId),
  );
  const held = one((p: RunHold) =>
    db
      .selectFrom('runs')
      .selectAll()
      .where('id', '=', p.runId)
      .where('fence', '=', p.fence)
      .where('state', '=', 'running'),
  );
  const enqueue = async (agent: { id: string; tree_id: string; node_id: string }, now: number): Promise<void> => {
    await insertRun(newRun({ agentId: agent.id, treeId: agent.tree_id, nodeId: agent.node_id, seq: batch.seq, now }));
    batch.runnable = true;
  };

  return {
    /**
     * Wake: makes a run for the agent if it has something to do and none is on its way. Requests and replies always
     * wake, and so do people in a channel; news wakes an agent that waits for no other agent. People answer when they come
     * back, so a question to one of them keeps no news away. An external agent is never woken: whoever runs it reads its inbox.
     */
    wakeAgent: async (p: { agentId: string; now: number }): Promise<void> => {
      const agent = await wakeable({ agentId: p.agentId });
      if (agent) await inSpan('wake', { 'gen_ai.agent.id': agent.id }, () => enqueue(agent, p.now));
    },
    wakeAllAgents: async (p: { nodeId: string; now: number }): Promise<void> => {
      for (const agent of await wakeableAgents({ nodeId: p.nodeId })) await enqueue(agent, p.now);
    },
    claimRun: async (p: ClaimFilter & { leaseMs: number; boot: string }): Promise<RunRow | null> => {
      const [next] = await fetch(nextRun(p));
      if (!next) return null;
      const claimed = await startClaimed({ id: next.id, now: p.now, leaseUntil: p.now + p.leaseMs, boot: p.boot });
      await countClaim({ treeId: next.tree_id, seq: batch.seq + 1, started: next.attempt === 0 ? 1 : 0 });
      return claimed;
    },
    /** An external agent's open-ended run: running from the start, without slot or lease. */
    insertOpenRun: async (p: { agentId: string; treeId: string; nodeId: string; now: number }): Promise<RunRow> => {
      const open: RunRow = {
        ...newRun({ ...p, seq: batch.seq }),
        state: 'running',
        attempt: 1,
        fence: 1,
        started_at: p.now,
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
          .innerJoin('agents', 'agents.id', 'runs.agent_id')
          .selectAll('runs')
          .select('agents.handle')
          .$if(p.agentId !== null, (q) => q.where('runs.agent_id', '=', p.agentId ?? ''))
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
      db.selectFrom('runs').selectAll().where('agent_id', '=', p.agentId).where('state', 'in', ['created', 'running']),
    ),
    /** The run if the attempt still holds it; the one check that every write of an attempt makes. */
    holdRun: async (hold: RunHold): Promise<RunRow> => {
      const row = await held(hold);
      if (!row) throw new SubstratError('fenced', 'This turn has ended; nothing more can be done in its name.');
      return row;
    },
    setRunStart: run(
      (p: {
        id: string;
        serves: string | null;
        triggerId: string | null;
        chainDepth: number;
        payerId: string | null;
      }) =>
        db
          .updateTable('runs')
          .set({ serves: p.serves, trigger_id: p.triggerId, chain_depth: p.chainDepth, payer_id: p.payerId })
          .where('id', '=', p.id),
    ),
    setRunProcess: run((p: { id: string; pid: number; startedAt: string }) =>
      db.updateTable('runs').set({ pid: p.pid, pid_started: p.startedAt }).where('id', '=', p.id),
    ),
    addUsage: run((p: { id: string; inputTokens: number; outputTokens: number; costUsd: number }) =>
      db
        .updateTable('runs')
        .set((eb) => ({
          input_tokens: eb('input_tokens', '+', p.inputTokens),
          output_tokens: eb('output_tokens', '+', p.outputTokens),
          cost_usd: eb('cost_usd', '+', p.costUsd),
        }))
        .where('id', '=', p.id),
    ),
    /** Summed by agent, by tree or by day (in UTC, as its number since 1970), the costliest or the latest first. */
    listUsage: async (p: { by: 'agent' | 'tree' | 'day'; since: number; until: number; limit: number }) => {
      const rows = await fetch(
        db
          .selectFrom('runs')
          .innerJoin('agents', 'agents.id', p.by === 'tree' ? 'runs.tree_id' : 'runs.agent_id')
          .select((eb) => [
            (p.by === 'day' ? sql<string>`cast(runs.created_at / 86400000 as text)` : sql<string>`agents.handle`).as(
              'key',
            ),
            eb.fn.countAll<number>().as('runs'),
            eb.fn.sum<number>('runs.input_tokens').as('input'),
            eb.fn.sum<number>('runs.output_tokens').as('output'),
            eb.fn.sum<number>('runs.cost_usd').as('cost'),
          ])
          .where('runs.created_at', '>=', p.since)
          .where('runs.created_at', '<', p.until)
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
    /** Ends a run for good. The fence rises with it, so that nothing that its attempt still sends can count. */
    endRun: run(
      (p: {
        id: string;
        state: 'completed' | 'failed' | 'cancelled';
        stopReason: StopReason;
        error: string | null;
        finalText: string | null;
        now: number;
      }) =>
        db
          .updateTable('runs')
          .set((eb) => ({
            state: p.state,
            stop_reason: p.stopReason,
            error: p.error,
            final_text: p.finalText,
            fence: eb('fence', '+', 1),
            lease_until: null,
            pid: null,
            pid_started: null,
            ended_at: p.now,
          }))
          .where('id', '=', p.id)
          .where('state', 'in', ['created', 'running']),
    ),
    /** Ends an attempt: the run waits for the next one. */
    retryRun: async (p: { id: string; failures: number; error: string; notBefore: number }): Promise<void> => {
      await retry(p);
      batch.runnable = true;
    },
    listRunning: all((p: { nodeId: string }) =>
      db.selectFrom('runs').selectAll().where('state', '=', 'running').where('node_id', '=', p.nodeId),
    ),
    /** When the next run that rests may start. */
    getNextStart: one((p: { nodeId: string; now: number }) =>
      db
        .selectFrom('runs')
        .innerJoin('agents', 'agents.id', 'runs.agent_id')
        .select((eb) =>
          eb.fn
            .min(
              eb
                .case()
                .when('runs.not_before', '>', eb.ref('agents.rest_until'))
                .then(eb.ref('runs.not_before'))
                .else(eb.ref('agents.rest_until'))
                .end(),
            )
            .as('at'),
        )
        .where('runs.state', '=', 'created')
        .where('runs.node_id', '=', p.nodeId)
        .where((eb) => eb.or([eb('runs.not_before', '>', p.now), eb('agents.rest_until', '>', p.now)])),
    ),
    /** The owner has spoken: the tree may run again. */
    resetTreeRuns: async (p: { treeId: string }): Promise<void> => {
      if ((await resetTree(p)) > 0) batch.runnable = true;
    },
    listNewlyPaused: all((p: { maxTreeRuns: number }) =>
      db
        .selectFrom('trees')
        .select('id')
        .where('told_paused', '=', 0)
        .where('runs_since_person', '>=', p.maxTreeRuns)
        .where('id', 'in', (eb) =>
          eb
            .selectFrom('runs')
            .select('runs.tree_id')
            .where('runs.state', '=', 'created')
            .where('runs.attempt', '=', 0),
        ),
    ),
    setToldPaused: run((p: { treeId: string }) =>
      db.updateTable('trees').set({ told_paused: 1 }).where('id', '=', p.treeId),
    ),
  };
}

/** Not a suspect, or the only one that would be under way. */
function isAllowed(eb: ExpressionBuilder<Schema, 'runs'>, p: ClaimFilter) {
  const suspects = eb
    .selectFrom('runs as suspects')
    .select('suspects.id')
    .where('suspects.state', '=', sql.lit('running'))
    .where('suspects.node_id', '=', p.nodeId)
    .where('suspects.deaths', '>=', p.suspectFrom ?? 0);
  return eb.or([eb('runs.deaths', '<', p.suspectFrom ?? 0), eb.not(eb.exists(suspects))]);
}

/** Ready, alive, not paused, without a run on its way, and with something to carry. */
function hasWork(eb: ExpressionBuilder<Schema, 'agents'>) {
  const pending = () =>
    eb
      .selectFrom('deliveries')
      .select('deliveries.message_id')
      .whereRef('deliveries.agent_id', '=', 'agents.id')
      .where('deliveries.state', '=', 'pending')
      .where('deliveries.round', '<', 2);
  const awaited = pending().where((d) => d.or([d('deliveries.kind', '<>', 'news'), d('deliveries.round', '=', 1)]));
  const news = pending().where('deliveries.round', '>=', 0);
  const live = eb
    .selectFrom('runs')
    .select('runs.id')
    .whereRef('runs.agent_id', '=', 'agents.id')
    .where('runs.state', 'in', ['created', 'running']);
  const asking = eb
    .selectFrom('requests')
    .innerJoin('agents as asked', 'asked.id', 'requests.recipient_id')
    .select('requests.message_id')
    .whereRef('requests.asker_id', '=', 'agents.id')
    .where('requests.state', '=', 'open');
  return eb.and([
    eb('agents.ready', '=', 1),
    eb('agents.terminated_at', 'is', null),
    eb('agents.provider', '<>', 'external'),
    eb('agents.paused_at', 'is', null),
    eb.not(eb.exists(live)),
    eb.or([eb.exists(awaited), eb.and([eb.exists(news), eb.not(eb.exists(asking))])]),
  ]);
}

function newRun(p: { agentId: string; treeId: string; nodeId: string; seq: number; now: number }): RunRow {
  return {
    id: newId(),
    seq: p.seq,
    agent_id: p.agentId,
    tree_id: p.treeId,
    node_id: p.nodeId,
    state: 'created',
    attempt: 0,
    failures: 0,
    fence: 0,
    serves: null,
    trigger_id: null,
    chain_depth: 0,
    payer_id: null,
    stop_reason: null,
    error: null,
    final_text: null,
    input_tokens: 0,
    output_tokens: 0,
    cost_usd: 0,
    not_before: 0,
    lease_until: null,
    pid: null,
    pid_started: null,
    deaths: 0,
    deaths_ever: 0,
    records_at_death: 0,
    boot: null,
    created_at: p.now,
    started_at: null,
    ended_at: null,
  };
}

interface ClaimFilter {
  readonly nodeId: string;
  readonly now: number;
  readonly maxTreeRuns: number;
  /** People whose runs of today are used up. */
  readonly spent: readonly string[];
  /** Agents whose last process has not ended yet, though their run has. */
  readonly busyAgents: readonly string[];
  /** Providers whose own slots are taken. */
  readonly fullProviders: readonly string[];
  /** Runs that were under way at so many deaths of the daemon run one at a time; null: all run. */
  readonly suspectFrom: number | null;
}

export interface RunCursor {
  readonly seq: number;
  readonly id: string;
}
