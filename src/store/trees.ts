import type { ExpressionBuilder } from 'kysely';
import type { BatchState } from './batch.ts';
import type { Queries } from './query.ts';
import type { Schema } from './schema.ts';
import type { Trees } from './tx.ts';

/**
 * Who pays for runs: the tree, up to its cap, or the person whose message started the chain, up to their daily runs.
 */
export function treeQueries({ db, all, one, value, put, run, change }: Queries, batch: BatchState): Trees {
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
  const resetTree = run((p: { treeId: string }) =>
    db
      .updateTable('trees')
      .set({ runsSincePerson: 0, toldPaused: false })
      .where('id', '=', p.treeId)
      .where('runsSincePerson', '>', 0),
  );
  return {
    getTree: one((p: { id: string }) => db.selectFrom('trees').selectAll().where('id', '=', p.id)),
    /** Moves a run counted for its tree to a person. Returns the person's runs of that day. */
    chargePerson: async (p: { treeId: string; personId: string; day: number }): Promise<number> => {
      await uncount(p);
      return (await charge(p)) ?? 0;
    },
    /** The owner wrote a message: the tree may run again. */
    resetTreeRuns: async (p: { treeId: string }): Promise<void> => {
      if ((await resetTree(p)) > 0) batch.runnable = true;
    },
    listNewlyPaused: all((p: { maxTreeRuns: number }) =>
      db
        .selectFrom('trees')
        .select('id')
        .where('toldPaused', '=', false)
        .where('runsSincePerson', '>=', p.maxTreeRuns)
        .where('id', 'in', (eb) =>
          eb.selectFrom('runs').select('runs.treeId').where('runs.state', '=', 'created').where('runs.attempt', '=', 0),
        ),
    ),
    setToldPaused: change('tree', (p: { treeId: string }) =>
      db.updateTable('trees').set({ toldPaused: true }).where('id', '=', p.treeId),
    ),
    listPersonRuns: all((p: { day: number }) =>
      db
        .selectFrom('person_runs')
        .innerJoin('participants', 'participants.id', 'person_runs.personId')
        .select(['person_runs.personId', 'person_runs.runs', 'participants.handle'])
        .where('person_runs.day', '=', p.day),
    ),
  };
}

/** Whether anybody has a run left for something that the agent must carry: the tree, or a paying person. */
export function mayBegin(
  eb: ExpressionBuilder<Schema, 'runs' | 'trees'>,
  { maxTreeRuns, spent }: { readonly maxTreeRuns: number; readonly spent: readonly string[] },
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
  if (spent.length === 0) return eb.or([room, eb.exists(pending().where('messages.payerId', 'is not', null))]);
  return eb.or([
    eb.and([room, eb.exists(pending().where('messages.payerId', 'is', null))]),
    eb.exists(pending().where('messages.payerId', 'not in', [...spent])),
  ]);
}
