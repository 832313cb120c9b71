import { sql } from 'kysely';
import type { Workspace } from '../core/workspace.ts';
import type { Queries } from './query.ts';
import type { NodeRow } from './schema.ts';

/** A node that agents belong to. A node that never registered has no name, home or time. */
export interface NodeView {
  readonly id: string;
  readonly name: string | null;
  readonly home: string | null;
  readonly seenAt: number | null;
  /** Living agents. */
  readonly agents: number;
}

/** Where the directory of a workspace has moved. */
export interface Move {
  readonly from: string;
  readonly to: string;
}

export function nodeQueries({ db, all, one, run }: Queries) {
  const listRegistered = all((_: object) => db.selectFrom('nodes').selectAll().orderBy('id'));
  const countByNode = all((_: object) =>
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
  /** The directory itself and everything inside of it. */
  const moved = (column: 'path' | 'workspace' | 'source', p: Move) => ({
    value: sql<string>`${p.to} || substr(${sql.ref(column)}, length(${p.from}) + 1)`,
    inside: sql<boolean>`substr(${sql.ref(column)} || '/', 1, length(${p.from}) + 1) = ${p.from} || '/'`,
  });
  const moveWorkspaces = run((p: Move & { nodeId: string }) =>
    db
      .updateTable('workspaces')
      .set({ path: moved('path', p).value })
      .where('nodeId', '=', p.nodeId)
      .where(moved('path', p).inside),
  );
  const moveAgents = run((p: Move & { nodeId: string }) =>
    db
      .updateTable('agents')
      .set({ workspace: moved('workspace', p).value })
      .where('nodeId', '=', p.nodeId)
      .where(moved('workspace', p).inside),
  );
  const moveLinks = run((p: Move & { nodeId: string }) =>
    db
      .updateTable('links')
      .set({ source: moved('source', p).value })
      .where('workspaceId', 'in', (eb) =>
        eb.selectFrom('workspaces').select('workspaces.id').where('nodeId', '=', p.nodeId),
      )
      .where(moved('source', p).inside),
  );

  return {
    /** Registers a node, or notes that it is alive. */
    seeNode: run((p: NodeRow) =>
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
    /** Every node that registered, and every one that living agents belong to. */
    listNodes: async (_: object): Promise<NodeView[]> => {
      const counts = new Map((await countByNode({})).map(({ nodeId, n }) => [nodeId, n]));
      const registered = await listRegistered({});
      const ids = new Set(registered.map(({ id }) => id));
      const strangers = [...counts.keys()].filter((id) => !ids.has(id));
      return [
        ...registered.map((row) => ({ ...row, agents: counts.get(row.id) ?? 0 })),
        ...strangers.map((id) => ({ id, name: null, home: null, seenAt: null, agents: counts.get(id) ?? 0 })),
      ];
    },
    listAgentsOn: all((p: { nodeId: string }) =>
      db.selectFrom('agents').selectAll().where('nodeId', '=', p.nodeId).where('terminatedAt', 'is', null),
    ),
    /** The workspaces of a node whose directories Substrat made in the node's home. */
    listMadeWorkspaces: all((p: { nodeId: string }) =>
      db
        .selectFrom('workspaces')
        .select(['id', 'path'])
        .where('nodeId', '=', p.nodeId)
        .where('made', '=', true)
        .where('viewOf', 'is', null)
        .where('deletedAt', 'is', null)
        .orderBy('path')
        .$castTo<Pick<Workspace, 'id' | 'path'>>(),
    ),
    /** Agents, workspaces and waiting runs of one node become another's. Returns how many agents, terminated ones included. */
    adoptNode: async (p: { from: string; to: string }): Promise<number> => {
      const agents = await adopt.agents(p);
      await adopt.workspaces(p);
      await adopt.runs(p);
      await adopt.forget({ id: p.from });
      return agents;
    },
    /** The directory of a workspace of this node is elsewhere now: all that names it, or a path inside of it, follows. */
    moveDirectory: async (p: Move & { nodeId: string }): Promise<void> => {
      await moveWorkspaces(p);
      await moveAgents(p);
      await moveLinks(p);
    },
  };
}
