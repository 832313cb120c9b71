import type { ExpressionBuilder } from 'kysely';
import type { Queries } from './query.ts';
import type { Schema } from './schema.ts';

/** Who pays for runs: the tree, up to its cap, or the person at whose word the chain began, up to their runs of the day. */
export function payerQueries({ db, all, one, run }: Queries) {
  const uncount = run((p: { treeId: string }) =>
    db
      .updateTable('trees')
      .set((eb) => ({ runsSincePerson: eb('runsSincePerson', '-', 1) }))
      .where('id', '=', p.treeId),
  );
  const charge = one((p: { personId: string; day: number }) =>
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
    /** A run that was counted for its tree is a person's instead. Returns how many the person had on that day. */
    chargePerson: async (p: { treeId: string; personId: string; day: number }): Promise<number> => {
      await uncount(p);
      return (await charge(p))?.runs ?? 0;
    },
    listPersonRuns: all((p: { day: number }) =>
      db
        .selectFrom('person_runs')
        .innerJoin('participants', 'participants.id', 'person_runs.personId')
        .select(['person_runs.personId', 'person_runs.runs', 'participants.handle'])
        .where('person_runs.day', '=', p.day),
    ),
  };
}

/** Whether somebody has a run left for something that the agent has to carry: the tree, or a person who pays. */
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
