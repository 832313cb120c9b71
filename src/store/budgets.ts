import { type RawBuilder, sql } from 'kysely';
import { USER_ID } from '../core/agent.ts';
import type { Budget, Charge, Drawn } from '../core/budget.ts';
import type { AgentId, BudgetId, MessageId, NodeId, ParticipantId, RunId } from '../core/ids.ts';
import { dayOf, type Run } from '../core/run.ts';
import type { BatchState } from './batch.ts';
import type { Queries } from './query.ts';

/** Limits, what attempts draw from them, and the runs that wait for one. */
export interface Budgets {
  /** Creates it, or replaces the one with its id. */
  setBudget(budget: Budget): Promise<void>;
  getBudget(p: { id: BudgetId }): Promise<Budget | null>;
  findBudget(p: Pick<Budget, 'scope' | 'subjectId' | 'unit' | 'period'>): Promise<Budget | null>;
  /** The budget that the owner is asked about. */
  getAskedBudget(p: { questionId: MessageId }): Promise<Budget | null>;
  /** All that have not expired, with the handle of each subject; the oldest first. */
  listBudgets(p: { now: number }): Promise<(Budget & { readonly handle: string })[]>;
  /** Those whose subject it is. */
  listBudgetsAbout(p: { subjectId: ParticipantId }): Promise<Budget[]>;
  /** The owner's answer is no longer needed. */
  forgetQuestion(p: { id: BudgetId }): Promise<void>;
  /** Those of agents of a tree, and those of a person, that have not expired; the oldest first. */
  listBudgetsOf(p: { treeId: AgentId; personId: ParticipantId; now: number }): Promise<Budget[]>;
  /** With its charges. */
  deleteBudget(p: { id: BudgetId }): Promise<void>;
  getDrawn(p: { budgetId: BudgetId; periodNumber: number }): Promise<Drawn>;
  /** Creates it, or replaces the one of the same attempt and budget. */
  setCharge(charge: Charge): Promise<void>;
  /** By attempt. */
  listCharges(p: { runId: RunId }): Promise<Charge[]>;
  /** Runs with an open charge, of those that run on a node. */
  listCharged(p: { nodeId: NodeId }): Promise<{ readonly runId: RunId }[]>;
  /** Runs in progress, of a tree or at the word of a person. */
  listRunningFor(p: { treeId: AgentId | null; personId: ParticipantId | null }): Promise<Run[]>;
  /** Removes charges of days before the one with that time, at most `limit`. Returns how many. */
  pruneCharges(p: { before: number; limit: number }): Promise<number>;
  /** A run that was not started waits for a budget. */
  parkRun(p: { id: RunId; budgetId: BudgetId; until: number; reason: string; now: number }): Promise<void>;
  unparkRun(p: { id: RunId }): Promise<void>;
  listParked(p: { budgetId: BudgetId }): Promise<Run[]>;
  listParkedUntil(p: { now: number }): Promise<Run[]>;
  getNextUnpark(): Promise<number | null>;
}

export function budgetQueries(queries: Queries, batch: BatchState): Budgets {
  const { db, all, one, value, put, change, run } = queries;
  const unexpired = (now: number) =>
    db
      .selectFrom('budgets')
      .selectAll('budgets')
      .where((eb) => eb.or([eb('budgets.expiresAt', 'is', null), eb('budgets.expiresAt', '>', now)]))
      .orderBy('budgets.createdAt')
      .orderBy('budgets.id');
  // The index of charges begins with the budget.
  const oldCharges = all((p: { day: number; limit: number }) =>
    db
      .selectFrom('budgets')
      .innerJoin('charges', 'charges.budgetId', 'budgets.id')
      .select(['charges.runId', 'charges.attempt', 'charges.budgetId'])
      .where('charges.periodNumber', '>', 0)
      .where('charges.periodNumber', '<', p.day)
      .where('charges.open', '=', false)
      .limit(p.limit),
  );
  const removeCharge = run((p: Pick<Charge, 'runId' | 'attempt' | 'budgetId'>) =>
    db
      .deleteFrom('charges')
      .where('runId', '=', p.runId)
      .where('attempt', '=', p.attempt)
      .where('budgetId', '=', p.budgetId),
  );
  const sums = one((p: { budgetId: string; periodNumber: number }) =>
    db
      .selectFrom('charges')
      .select([
        total(sql`used`).as('used'),
        total(sql`case when open = 1 and reserved > used then reserved else used end`).as('held'),
        sql<number>`cast(coalesce(sum(open), 0) as bigint)`.as('holders'),
      ])
      .where('budgetId', '=', p.budgetId)
      .where('periodNumber', '=', p.periodNumber),
  );
  const unpark = put((p: { id: string }) =>
    db.updateTable('runs').set({ budgetId: null, budgetUntil: null }).where('id', '=', p.id),
  );
  const parked = () => db.selectFrom('runs').selectAll().where('budgetId', 'is not', null);
  return {
    setBudget: put((p: Budget) =>
      db
        .insertInto('budgets')
        .values({
          id: p.id,
          scope: p.scope,
          subjectId: p.subjectId,
          treeId: p.treeId,
          unit: p.unit,
          period: p.period,
          timeZone: p.timeZone,
          amount: p.amount,
          expiresAt: p.expiresAt,
          origin: p.origin,
          raised: p.raised,
          raisedIn: p.raisedIn,
          warnedIn: p.warnedIn,
          askedIn: p.askedIn,
          stoppedIn: p.stoppedIn,
          questionId: p.questionId,
          createdAt: p.createdAt,
        })
        .onConflict((conflict) =>
          conflict.column('id').doUpdateSet((eb) => ({
            timeZone: eb.ref('excluded.timeZone'),
            amount: eb.ref('excluded.amount'),
            expiresAt: eb.ref('excluded.expiresAt'),
            origin: eb.ref('excluded.origin'),
            raised: eb.ref('excluded.raised'),
            raisedIn: eb.ref('excluded.raisedIn'),
            warnedIn: eb.ref('excluded.warnedIn'),
            askedIn: eb.ref('excluded.askedIn'),
            stoppedIn: eb.ref('excluded.stoppedIn'),
            questionId: eb.ref('excluded.questionId'),
          })),
        ),
    ),
    getBudget: one((p: { id: string }) => db.selectFrom('budgets').selectAll().where('id', '=', p.id)),
    findBudget: one((p: Pick<Budget, 'scope' | 'subjectId' | 'unit' | 'period'>) =>
      db
        .selectFrom('budgets')
        .selectAll()
        .where('subjectId', '=', p.subjectId)
        .where('scope', '=', p.scope)
        .where('unit', '=', p.unit)
        .where('period', '=', p.period),
    ),
    getAskedBudget: one((p: { questionId: string }) =>
      db.selectFrom('budgets').selectAll().where('questionId', '=', p.questionId),
    ),
    listBudgets: all((p: { now: number }) =>
      unexpired(p.now).innerJoin('participants', 'participants.id', 'budgets.subjectId').select('participants.handle'),
    ),
    listBudgetsAbout: all((p: { subjectId: string }) =>
      db.selectFrom('budgets').selectAll().where('subjectId', '=', p.subjectId).orderBy('createdAt').orderBy('id'),
    ),
    forgetQuestion: put((p: { id: string }) =>
      db.updateTable('budgets').set({ questionId: null }).where('id', '=', p.id),
    ),
    listBudgetsOf: all((p: { treeId: string; personId: string; now: number }) =>
      unexpired(p.now).where((eb) =>
        eb.or([
          eb('treeId', '=', p.treeId),
          // What a schedule starts is the owner's.
          eb.and([eb('subjectId', '=', ownerOf(sql`${p.personId}`)), eb('scope', '=', sql.lit('person'))]),
        ]),
      ),
    ),
    deleteBudget: change('budget', (p: { id: string }) => db.deleteFrom('budgets').where('id', '=', p.id)),
    getDrawn: async (p) => (await sums(p)) ?? { used: 0, held: 0, holders: 0 },
    setCharge: put((p: Charge) =>
      db
        .insertInto('charges')
        .values({
          budgetId: p.budgetId,
          runId: p.runId,
          attempt: p.attempt,
          periodNumber: p.periodNumber,
          reserved: p.reserved,
          used: p.used,
          grade: p.grade,
          open: p.open,
          createdAt: p.createdAt,
        })
        .onConflict((conflict) =>
          conflict.columns(['runId', 'attempt', 'budgetId']).doUpdateSet((eb) => ({
            reserved: eb.ref('excluded.reserved'),
            used: eb.ref('excluded.used'),
            grade: eb.ref('excluded.grade'),
            open: eb.ref('excluded.open'),
          })),
        ),
    ),
    listCharges: all((p: { runId: string }) =>
      db.selectFrom('charges').selectAll().where('runId', '=', p.runId).orderBy('attempt').orderBy('budgetId'),
    ),
    listCharged: all((p: { nodeId: string }) =>
      db
        .selectFrom('charges')
        .innerJoin('runs', 'runs.id', 'charges.runId')
        .select('charges.runId')
        .distinct()
        .where('runs.nodeId', '=', p.nodeId)
        .where('runs.state', '=', 'running')
        .where('runs.state', 'in', ['created', 'running'])
        .where('charges.open', '=', true),
    ),
    listRunningFor: all((p: { treeId: string | null; personId: string | null }) =>
      db
        .selectFrom('runs')
        .selectAll()
        .where('state', '=', 'running')
        .where('state', 'in', ['created', 'running'])
        .where((eb) =>
          eb.or([eb('treeId', '=', p.treeId), eb(ownerOf(sql`coalesce(payer_id, ${USER_ID})`), '=', p.personId)]),
        )
        .orderBy('seq'),
    ),
    pruneCharges: async ({ before, limit }) => {
      const old = await oldCharges({ day: dayOf(before), limit });
      for (const charge of old) await removeCharge(charge);
      return old.length;
    },
    parkRun: change('run', (p: { id: string; budgetId: string; until: number; reason: string; now: number }) =>
      db
        .updateTable('runs')
        .set({ budgetId: p.budgetId, budgetUntil: p.until, error: p.reason, failedAt: p.now })
        .where('id', '=', p.id)
        .where('state', '=', 'created'),
    ),
    unparkRun: async (p) => {
      await unpark(p);
      batch.runnable = true;
    },
    listParked: all((p: { budgetId: string }) => parked().where('budgetId', '=', p.budgetId).orderBy('seq')),
    listParkedUntil: all((p: { now: number }) => parked().where('budgetUntil', '<=', p.now).orderBy('seq')),
    getNextUnpark: value(() =>
      db
        .selectFrom('runs')
        .select((eb) => eb.fn.min('budgetUntil').as('at'))
        .where('budgetId', 'is not', null),
    ),
  };
}

/**
 * Ends the reservations of a run whose attempt has ended. Until a final number arrives, everything that was reserved
 * counts as used.
 */
export function chargeClosing({ db, put }: Queries): (p: { runId: RunId }) => Promise<void> {
  return put((p: { runId: string }) =>
    db
      .updateTable('charges')
      .set({
        used: sql<number>`case when reserved > used then reserved else used end`,
        grade: sql<'assumed'>`case when reserved > used then 'assumed' else grade end`,
        reserved: 0,
        open: false,
      })
      .where('runId', '=', p.runId)
      .where('open', '=', true),
  );
}

/** The person of a payer: the owner, if it is a schedule. */
function ownerOf(payer: RawBuilder<unknown>): RawBuilder<string> {
  return sql<string>`case when exists (select 1 from schedules where schedules.id = ${payer}) then ${sql.lit(USER_ID)} else ${payer} end`;
}

function total(amount: RawBuilder<unknown>): RawBuilder<number> {
  return sql<number>`cast(coalesce(sum(${amount}), 0) as double precision)`;
}
