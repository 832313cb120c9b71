import { sql } from 'kysely';
import type { WorkspaceId } from '../core/ids.ts';
import type { Link, Workspace } from '../core/workspace.ts';
import type { Queries } from './query.ts';
import type { Workspaces } from './tx.ts';

/** The new location of a workspace's directory. */
interface Move {
  readonly from: string;
  readonly to: string;
}

/** Only `listDeletedWorkspaces` returns deleted ones, until their directories are gone. */
export function workspaceQueries({ db, all, one, run, change, attempt, fetch }: Queries): Workspaces {
  const live = () => db.selectFrom('workspaces').selectAll('workspaces').where('deletedAt', 'is', null);
  const views = () =>
    live().innerJoin('participants', 'participants.id', 'ownerId').select('participants.handle as owner');
  const revive = change('workspace', (p: { id: string; ownerId: string; name: string; nameKey: string }) =>
    db
      .updateTable('workspaces')
      .set({ deletedAt: null, ownerId: p.ownerId, name: p.name, nameKey: p.nameKey })
      .where('id', '=', p.id),
  );
  const leave = run((p: { id: string }) =>
    db.updateTable('agents').set({ workspaceId: null }).where('workspaceId', '=', p.id),
  );
  const unlinkAll = run((p: { id: string }) => db.deleteFrom('links').where('workspaceId', '=', p.id));
  const forget = run((p: { id: string }) => db.deleteFrom('wips').where('workspaceId', '=', p.id));
  const remove = attempt((p: { id: string }) => db.deleteFrom('workspaces').where('id', '=', p.id));
  const mark = change('workspace', (p: { id: string; at: number }) =>
    db.updateTable('workspaces').set({ deletedAt: p.at, nameKey: null }).where('id', '=', p.id),
  );
  /** The directory itself and everything inside it. */
  const moved = (column: 'insidePath' | 'path' | 'source' | 'workspace', p: Move) => ({
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
  /** A path is the same outside and inside, so a session follows its workspace. */
  const moveSessions = run((p: Move & { nodeId: string }) =>
    db
      .updateTable('sessions')
      .set({ insidePath: moved('insidePath', p).value })
      .where('agentId', 'in', (eb) => eb.selectFrom('agents').select('agents.id').where('nodeId', '=', p.nodeId))
      .where(moved('insidePath', p).inside),
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
    insertWorkspace: async (row: Workspace) => void (await fetch(db.insertInto('workspaces').values(row))),
    getWorkspace: one((p: { id: string }) => views().where('workspaces.id', '=', p.id)),
    getWorkspaceNamed: one((p: { nameKey: string }) => views().where('nameKey', '=', p.nameKey)),
    /** The workspace that owns this directory; views show another's. */
    getWorkspaceAt: one((p: { nodeId: string; path: string }) =>
      live().where('path', '=', p.path).where('nodeId', '=', p.nodeId).where('viewOf', 'is', null),
    ),
    /** By name, after `after`. */
    listWorkspaces: all((p: { after: string; limit: number }) =>
      views().where('nameKey', '>', p.after).orderBy('nameKey').limit(p.limit),
    ),
    listWorkspacesOf: all((p: { ownerId: string }) => views().where('ownerId', '=', p.ownerId).orderBy('nameKey')),
    /** Every directory of this node that agents may write. */
    listWorkspacePaths: all((p: { nodeId: string }) =>
      db.selectFrom('workspaces').select(['id', 'path']).where('nodeId', '=', p.nodeId).where('deletedAt', 'is', null),
    ),
    listViewsOf: all((p: { id: string }) => live().where('viewOf', '=', p.id).orderBy('nameKey')),
    listDeletedWorkspaces: all((p: { nodeId: string }) =>
      db.selectFrom('workspaces').selectAll().where('nodeId', '=', p.nodeId).where('deletedAt', 'is not', null),
    ),
    deleteWorkspace: async (p: { id: WorkspaceId; at: number }) => {
      await unlinkAll({ id: p.id });
      await mark(p);
    },
    reviveWorkspace: revive,
    moveWorkspace: change('workspace', (p: { id: string; nodeId: string }) =>
      db.updateTable('workspaces').set({ nodeId: p.nodeId }).where('id', '=', p.id),
    ),
    tryRemoveWorkspace: async (p: { id: WorkspaceId }) => {
      await leave(p);
      await forget(p);
      return remove(p);
    },
    /** The workspaces of a node whose directories Substrat created in the node's home. */
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
    /** The directory of a workspace of this node has moved: updates every path to it or inside it. */
    moveDirectory: async (p: Move & { nodeId: string }): Promise<void> => {
      await moveWorkspaces(p);
      await moveAgents(p);
      await moveSessions(p);
      await moveLinks(p);
    },
    /** Agents that work in it, including terminated ones. */
    listInhabitants: all((p: { workspaceId: string }) =>
      db
        .selectFrom('agents')
        .select(['id', 'handle', 'terminatedAt'])
        .where('workspaceId', '=', p.workspaceId)
        .orderBy('createdAt')
        .orderBy('id'),
    ),
    insertLink: async (row: Link) => void (await fetch(db.insertInto('links').values(row))),
    tryDeleteLink: attempt((p: { workspaceId: string; target: string }) =>
      db.deleteFrom('links').where('workspaceId', '=', p.workspaceId).where('target', '=', p.target),
    ),
    listLinks: all((p: { workspaceId: string }) =>
      db.selectFrom('links').selectAll().where('workspaceId', '=', p.workspaceId).orderBy('target'),
    ),
    /** Every link of this node's workspaces. */
    listLinksOn: all((p: { nodeId: string }) =>
      db
        .selectFrom('links')
        .innerJoin('workspaces', 'workspaces.id', 'links.workspaceId')
        .selectAll('links')
        .select('workspaces.name as workspace')
        .where('workspaces.nodeId', '=', p.nodeId),
    ),
  };
}
