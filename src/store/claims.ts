import { type ExpressionBuilder, sql } from 'kysely';
import type { Run } from '../core/run.ts';
import type { BatchState } from './batch.ts';
import { heldByOthers, isAllowed } from './eligibility.ts';
import { isOneOf, listOf } from './key-list.ts';
import type { Queries } from './query.ts';
import type { Schema } from './schema.ts';
import { mayBegin, passesGate } from './trees.ts';
import type { Runs } from './tx.ts';
import type { Claimant, ClaimFilter } from './views.ts';

export type ClaimQueries = Pick<Runs, 'getNextTree' | 'claimRun'>;

type Lists = 'spent' | 'busyAgents' | 'fullProviders';

/** A filter with each list as one parameter. */
type Filled = Omit<ClaimFilter, Lists> & Claimant & Readonly<Record<Lists, string>> & { readonly leaseUntil: number };

/** What changes the text of the queries. */
interface Shape {
  readonly hasSuspects: boolean;
  readonly hasSpent: boolean;
}

const SHAPES: readonly Shape[] = [false, true].flatMap((hasSuspects) =>
  [false, true].map((hasSpent) => ({ hasSuspects, hasSpent })),
);

/** Which run is next, and claiming it. Compiled once, because building these queries takes longer than executing them. */
export function claimQueries({ engine, db, all, put }: Queries, batch: BatchState): ClaimQueries {
  const isListed = (column: string, list: string) => isOneOf(engine, column, list, 'text');
  const nextRun = (p: Filled, { hasSuspects, hasSpent }: Shape) =>
    db
      .selectFrom('runs')
      .innerJoin('agents', 'agents.id', 'runs.agentId')
      .innerJoin('trees', 'trees.id', 'runs.treeId')
      .where('runs.state', '=', 'created')
      .where('runs.nodeId', '=', p.nodeId)
      .where((eb) => eb.not(eb.exists(heldByOthers(eb, p))))
      .where('runs.notBefore', '<=', p.now)
      .where('runs.budgetId', 'is', null)
      .where('agents.restUntil', '<=', p.now)
      .where('agents.pausedAt', 'is', null)
      // A run that has already started may finish regardless of the cap, because requests wait for it.
      .where((eb) =>
        eb.or([
          eb('runs.attempt', '>', 0),
          eb.and([
            mayBegin(eb, p.maxTreeRuns, hasSpent ? isListed('messages.payerId', p.spent) : null),
            passesGate(eb),
          ]),
        ]),
      )
      .$if(hasSuspects, (q) => q.where((eb) => isAllowed(eb, p)))
      .where((eb) => eb.not(isListed('runs.agentId', p.busyAgents)))
      .where((eb) => eb.not(isFull(eb, p.fullProviders)))
      // The tree with the fewest running turns, then the one that has waited longest.
      .orderBy((eb) =>
        eb
          .selectFrom('runs as busy')
          .select((q) => q.fn.countAll().as('n'))
          .whereRef('busy.treeId', '=', 'runs.treeId')
          .where('busy.state', '=', 'running')
          .where('busy.nodeId', '=', p.nodeId),
      )
      .orderBy('trees.lastClaim')
      .orderBy('runs.seq')
      .orderBy('runs.id')
      .limit(1);
  const isFull = (eb: ExpressionBuilder<Schema, 'agents'>, list: string) =>
    eb.or([
      eb.and([eb('agents.actingProvider', 'is not', null), isListed('agents.actingProvider', list)]),
      eb.and([eb('agents.actingProvider', 'is', null), isListed('agents.provider', list)]),
    ]);
  const trees = byShape((shape) => all((p: Filled) => nextRun(p, shape).select('runs.treeId')));
  const claims = byShape((shape) =>
    all((p: Filled) =>
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
        // Not `in`: a plan could evaluate the query several times, each time skipping what it has just locked.
        .where(
          'id',
          '=',
          nextRun(p, shape)
            .select('runs.id')
            .$if(engine === 'postgres', (q) => q.forNoKeyUpdate(['runs']).skipLocked()),
        )
        .returningAll(),
    ),
  );
  const closeGate = put((p: { agentId: string }) =>
    db
      .updateTable('agents')
      .set({ permitted: false, gateTold: false })
      .where('id', '=', p.agentId)
      .where('permitted', '=', true),
  );
  const countClaim = put((p: { treeId: string; seq: number; started: number }) =>
    db
      .updateTable('trees')
      .set((eb) => ({
        lastClaim: engine === 'sqlite' ? p.seq : sql<number>`nextval('numbers')`,
        runsSincePerson: eb('runsSincePerson', '+', p.started),
      }))
      .where('id', '=', p.treeId),
  );
  const filled = (p: ClaimFilter & Claimant, leaseUntil = 0): Filled => ({
    ...p,
    spent: listOf(engine, p.spent),
    busyAgents: listOf(engine, p.busyAgents),
    fullProviders: listOf(engine, p.fullProviders),
    leaseUntil,
  });
  return {
    getNextTree: async (p: ClaimFilter & Claimant) => (await trees(p)(filled(p)))[0]?.treeId ?? null,
    /** Never waits for the lock of a person's own transaction on the database. */
    claimRun: async (p: ClaimFilter & Claimant & { leaseMs: number }): Promise<Run | null> => {
      const [claimed] = await claims(p)(filled(p, p.now + p.leaseMs));
      if (!claimed) return null;
      if (claimed.attempt === 1) await closeGate({ agentId: claimed.agentId });
      await countClaim({ treeId: claimed.treeId, seq: batch.seq + 1, started: claimed.attempt === 1 ? 1 : 0 });
      return claimed;
    },
  };
}

/** One query for each shape, each compiled at its first use. */
function byShape<Q>(build: (shape: Shape) => Q): (p: ClaimFilter) => Q {
  const built = SHAPES.map(build);
  return ({ suspectFrom, spent }) => built[(suspectFrom === null ? 0 : 2) + (spent.length > 0 ? 1 : 0)] as Q;
}
