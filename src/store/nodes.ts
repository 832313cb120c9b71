import type { Queries } from './query.ts';
import type { Nodes } from './tx.ts';
import type { NodeView, StoreNode } from './views.ts';

export function nodeQueries({ db, all, one, put, run }: Queries): Nodes {
  const listRegistered = all(() => db.selectFrom('nodes').selectAll().orderBy('id'));
  const countByNode = all(() =>
    db
      .selectFrom('agents')
      .select(['nodeId', (eb) => eb.fn.countAll<number>().as('n')])
      .where('terminatedAt', 'is', null)
      .groupBy('nodeId')
      .orderBy('nodeId'),
  );
  const adopt = {
    agents: run((p: { from: string; to: string }) =>
      db.updateTable('agents').set({ nodeId: p.to }).where('nodeId', '=', p.from),
    ),
    workspaces: run((p: { from: string; to: string }) =>
      db.updateTable('workspaces').set({ nodeId: p.to }).where('nodeId', '=', p.from),
    ),
    runs: run((p: { from: string; to: string }) =>
      db.updateTable('runs').set({ nodeId: p.to }).where('nodeId', '=', p.from).where('state', '=', 'created'),
    ),
    forget: run((p: { id: string }) => db.deleteFrom('nodes').where('id', '=', p.id)),
  };

  return {
    /** Registers a node, or records that it is alive. */
    seeNode: put((p: StoreNode) =>
      db
        .insertInto('nodes')
        .values({ id: p.id, name: p.name, home: p.home, seenAt: p.seenAt })
        .onConflict((conflict) =>
          conflict.column('id').doUpdateSet((eb) => ({
            name: eb.ref('excluded.name'),
            home: eb.ref('excluded.home'),
            seenAt: eb.ref('excluded.seenAt'),
          })),
        ),
    ),
    getNode: one((p: { id: string }) => db.selectFrom('nodes').selectAll().where('id', '=', p.id)),
    /** Every registered node, and every node with living agents. */
    listNodes: async (): Promise<NodeView[]> => {
      const counts = new Map((await countByNode()).map(({ nodeId, n }) => [nodeId, n]));
      const registered = await listRegistered();
      const ids = new Set(registered.map(({ id }) => id));
      const strangers = [...counts.keys()].filter((id) => !ids.has(id));
      return [
        ...registered.map((row) => ({ ...row, agents: counts.get(row.id) ?? 0 })),
        ...strangers.map((id) => ({ id, name: null, home: null, seenAt: null, agents: counts.get(id) ?? 0 })),
      ];
    },
    /**
     * Moves agents, workspaces and waiting runs of one node to another. Returns the number of agents, including
     * terminated ones.
     */
    adoptNode: async (p: { from: string; to: string }): Promise<number> => {
      const agents = await adopt.agents(p);
      await adopt.workspaces(p);
      await adopt.runs(p);
      await adopt.forget({ id: p.from });
      return agents;
    },
  };
}
