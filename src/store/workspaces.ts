import { SubstratError } from '../core/errors.ts';
import type { Link, Workspace } from '../core/workspace.ts';
import type { Queries } from './query.ts';

/** A workspace with the handle of its owner. */
export interface WorkspaceView extends Workspace {
  readonly owner: string;
}

/** Deleted ones are seen by nobody but `listDeletedWorkspaces`, until what is left of them on the disk is gone. */
export function workspaceQueries({ db, all, one, run, fetch }: Queries) {
  const live = () => db.selectFrom('workspaces').selectAll('workspaces').where('deletedAt', 'is', null);
  const views = () =>
    live().innerJoin('participants', 'participants.id', 'ownerId').select('participants.handle as owner');
  const revive = run((p: { id: string; ownerId: string; name: string; nameKey: string }) =>
    db
      .updateTable('workspaces')
      .set({ deletedAt: null, ownerId: p.ownerId, name: p.name, nameKey: p.nameKey })
      .where('id', '=', p.id),
  );
  const leave = run((p: { id: string }) =>
    db.updateTable('agents').set({ workspaceId: null }).where('workspaceId', '=', p.id),
  );
  const unlinkAll = run((p: { id: string }) => db.deleteFrom('links').where('workspaceId', '=', p.id));
  const remove = run((p: { id: string }) => db.deleteFrom('workspaces').where('id', '=', p.id));
  const mark = run((p: { id: string; at: number }) =>
    db.updateTable('workspaces').set({ deletedAt: p.at, nameKey: null }).where('id', '=', p.id),
  );

  return {
    insertWorkspace: (row: Workspace) => fetch(db.insertInto('workspaces').values(row)),
    getWorkspace: one((p: { id: string }) => views().where('workspaces.id', '=', p.id)),
    getWorkspaceNamed: one((p: { nameKey: string }) => views().where('nameKey', '=', p.nameKey)),
    /** The one whose own directory that is; views show what belongs to another. */
    getWorkspaceAt: one((p: { nodeId: string; path: string }) =>
      live().where('path', '=', p.path).where('nodeId', '=', p.nodeId).where('viewOf', 'is', null),
    ),
    /** By name, from the one after `after`. */
    listWorkspaces: all((p: { after: string; limit: number }) =>
      views().where('nameKey', '>', p.after).orderBy('nameKey').limit(p.limit),
    ),
    listWorkspacesOf: all((p: { ownerId: string }) => views().where('ownerId', '=', p.ownerId).orderBy('nameKey')),
    /** Every directory of this node that agents may write in. */
    listWorkspacePaths: all((p: { nodeId: string }) =>
      db.selectFrom('workspaces').select(['id', 'path']).where('nodeId', '=', p.nodeId).where('deletedAt', 'is', null),
    ),
    listViewsOf: all((p: { id: string }) => live().where('viewOf', '=', p.id).orderBy('nameKey')),
    listDeletedWorkspaces: all((p: { nodeId: string }) =>
      db.selectFrom('workspaces').selectAll().where('nodeId', '=', p.nodeId).where('deletedAt', 'is not', null),
    ),
    /** Its name is free from now on, its links are gone; `removeWorkspace` ends it. */
    deleteWorkspace: async (p: { id: string; at: number }): Promise<void> => {
      await unlinkAll({ id: p.id });
      if ((await mark(p)) !== 1) throw new SubstratError('not_found', `There is no workspace ${p.id}.`);
    },
    reviveWorkspace: async (p: { id: string; ownerId: string; name: string; nameKey: string }): Promise<void> => {
      if ((await revive(p)) !== 1) throw new SubstratError('not_found', `There is no workspace ${p.id}.`);
    },
    /** Those who worked in it have ended, and remember only its path. */
    removeWorkspace: async (p: { id: string }): Promise<void> => {
      await leave(p);
      await remove(p);
    },
    /** Agents that work in it, those that have ended too. */
    listInhabitants: all((p: { workspaceId: string }) =>
      db
        .selectFrom('agents')
        .select(['id', 'handle', 'terminatedAt'])
        .where('workspaceId', '=', p.workspaceId)
        .orderBy('createdAt')
        .orderBy('id'),
    ),
    insertLink: (row: Link) => fetch(db.insertInto('links').values(row)),
    deleteLink: run((p: { workspaceId: string; target: string }) =>
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
