import { type ExpressionBuilder, type RawBuilder, sql } from 'kysely';
import type { AgentId, ParticipantId } from '../core/ids.ts';
import { SCHEDULED } from '../core/people.ts';
import type { BatchState } from './batch.ts';
import type { Queries } from './query.ts';
import type { Schema } from './schema.ts';
import type { NewlyPaused, PersonRuns } from './views.ts';

/** Caps of trees, and who pays for runs. */
export interface Trees {
  getTree(p: { id: AgentId }): Promise<{ readonly runsSincePerson: number; readonly toldPaused: boolean } | null>;
  /** The owner spoke: the tree may run again. */
  resetTreeRuns(p: { treeId: AgentId }): Promise<void>;
  /**
   * Trees that reached their cap, and schedules that used what they pay for, since the last time their person was told. Each with an agent
   * that waits.
   */
  listNewlyPaused(p: { maxTreeRuns: number }): Promise<NewlyPaused[]>;
  setToldPaused(p: { treeId: AgentId }): Promise<void>;
  /** A run that no claim counts. */
  countTreeRun(p: { treeId: AgentId }): Promise<void>;
  /** A run that was counted for its tree counts for a person. Returns the person's runs of that day. */
  chargePerson(p: { treeId: AgentId; personId: ParticipantId; day: number }): Promise<number>;
  /** Of the days from one to another, and of schedules since they last fired. */
  listPersonRuns(p: { from: number; to: number }): Promise<PersonRuns[]>;
}

/** An agent that has a run which waits, and something to do for a schedule. Few runs wait; a schedule has sent many messages. `cross join` sets the order for SQLite. */
const WAITS = sql`select min(waiting.agent_id) from runs waiting where waiting.state = 'created' and waiting.attempt = 0
  and exists (select 1 from deliveries cross join messages
    where messages.id = deliveries.message_id and deliveries.agent_id = waiting.agent_id and deliveries.state = 'pending' and deliveries.round < 2
      and messages.payer_id || '' = schedules.id)`;

/**
 * Who pays for runs: the tree, up to its cap, or the person whose message started the chain, up to their daily runs.
 */
export function treeQueries({ db, all, one, value, put, putAnd, change }: Queries, batch: BatchState): Trees {
  const uncount = put((p: { treeId: string }) =>
    db
      .updateTable('trees')
      .set((eb) => ({ runsSincePerson: eb('runsSincePerson', '-', 1) }))
      .where('id', '=', p.treeId),
  );
  const charge = value((p: { personId: string; day: number }) =>
    db
      .insertInto('person_runs')
      .values({ personId: p.personId, day: p.day, runs: 1 })
      .onConflict((oc) =>
        oc.columns(['personId', 'day']).doUpdateSet((eb) => ({ runs: eb('person_runs.runs', '+', 1) })),
      )
      .returning('runs'),
  );
  return {
    getTree: one((p: { id: string }) => db.selectFrom('trees').selectAll().where('id', '=', p.id)),
    /** Moves a run counted for its tree to a person. Returns the person's runs of that day. */
    chargePerson: async (p: { treeId: string; personId: string; day: number }): Promise<number> => {
      await uncount(p);
      return (await charge(p)) ?? 0;
    },
    /** The owner wrote a message: the tree may run again. */
    resetTreeRuns: putAnd(
      (p: { treeId: string }) =>
        db
          .updateTable('trees')
          .set({ runsSincePerson: 0, toldPaused: false })
          .where('id', '=', p.treeId)
          .where('runsSincePerson', '>', 0),
      () => {
        batch.runnable = true;
      },
    ),
    listNewlyPaused: all((p: { maxTreeRuns: number }) =>
      db
        .selectFrom('trees')
        .select(['id', 'id as agentId', sql<'tree' | 'schedule'>`'tree'`.as('kind')])
        .where('toldPaused', '=', false)
        .where('runsSincePerson', '>=', p.maxTreeRuns)
        .where('id', 'in', (eb) =>
          eb.selectFrom('runs').select('runs.treeId').where('runs.state', '=', 'created').where('runs.attempt', '=', 0),
        )
        .unionAll(
          db
            .selectFrom('schedules')
            .select([
              'schedules.id',
              sql<AgentId>`(${WAITS})`.as('agentId'),
              sql<'tree' | 'schedule'>`'schedule'`.as('kind'),
            ])
            .where('schedules.toldSpent', '=', false)
            .where(
              sql<boolean>`exists (select 1 from person_runs where person_id = schedules.id and runs >= schedules.runs)`,
            )
            .where(sql<boolean>`(${WAITS}) is not null`),
        ),
    ),
    countTreeRun: change('tree', (p: { treeId: string }) =>
      db
        .updateTable('trees')
        .set((eb) => ({ runsSincePerson: eb('runsSincePerson', '+', 1) }))
        .where('id', '=', p.treeId),
    ),
    setToldPaused: change('tree', (p: { treeId: string }) =>
      db.updateTable('trees').set({ toldPaused: true }).where('id', '=', p.treeId),
    ),
    listPersonRuns: all((p: { from: number; to: number }) =>
      db
        .selectFrom('person_runs')
        .innerJoin('participants', 'participants.id', 'person_runs.personId')
        .leftJoin('schedules', 'schedules.id', 'person_runs.personId')
        .select([
          'person_runs.personId',
          'person_runs.day',
          'person_runs.runs',
          'participants.handle',
          'schedules.runs as most',
        ])
        .where((eb) =>
          eb.or([
            eb.and([eb('person_runs.day', '>=', p.from), eb('person_runs.day', '<=', p.to)]),
            eb('person_runs.day', '=', SCHEDULED),
          ]),
        ),
    ),
  };
}

/** Whether anybody has a run left for something that the agent must carry: the tree, or a paying person. */
export function mayBegin(
  eb: ExpressionBuilder<Schema, 'runs' | 'trees'>,
  maxTreeRuns: number,
  /** Whether who pays has used up their runs; null: nobody has. */
  isSpent: RawBuilder<boolean> | null,
) {
  const pending = () =>
    eb
      .selectFrom('deliveries')
      .innerJoin('messages', 'messages.id', 'deliveries.messageId')
      .select('messages.id')
      .whereRef('deliveries.agentId', '=', 'runs.agentId')
      .where('deliveries.state', '=', 'pending')
      .where('deliveries.round', '<', 2);
  const room = eb('trees.runsSincePerson', '<', maxTreeRuns);
  const paid = pending().where('messages.payerId', 'is not', null);
  if (isSpent === null) return eb.or([room, eb.exists(paid)]);
  return eb.or([
    eb.and([room, eb.exists(pending().where('messages.payerId', 'is', null))]),
    eb.exists(paid.where(eb.not(isSpent))),
  ]);
}

/** No gate, or one turn is permitted. */
export function passesGate(eb: ExpressionBuilder<Schema, 'agents'>) {
  return eb.or([eb('agents.gatedAt', 'is', null), eb('agents.permitted', '=', true)]);
}
