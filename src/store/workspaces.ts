import { SubstratError } from '../core/errors.ts';
import type { Queries } from './query.ts';
import type { LinkRow, WorkspaceRow } from './schema.ts';

/** A workspace with the handle of its owner. */
export interface WorkspaceView extends WorkspaceRow {
  readonly owner: string;
}

/** Deleted ones are seen by nobody but `listDeletedWorkspaces`, until what is left of them on the disk is gone. */
export function workspaceQueries({ db, all, one, run, fetch }: Queries) {
  const live = () => db.selectFrom('workspaces').selectAll('workspaces').where('deleted_at', 'is', null);
  const views = () =>
    live().innerJoin('participants', 'participants.id', 'owner_id').select('participants.handle as owner');
  const revive = run((p: { id: string; ownerId: string; name: string; nameKey: string }) =>
    db
      .updateTable('workspaces')
      .set({ deleted_at: null, owner_id: p.ownerId, name: p.name, name_key: p.nameKey })
      .where('id', '=', p.id),
  );
  const leave = run((p: { id: string }) =>
    db.updateTable('agents').set({ workspace_id: null }).where('workspace_id', '=', p.id),
  );
  const unlinkAll = run((p: { id: string }) => db.deleteFrom('links').where('workspace_id', '=', p.id));
  const remove = run((p: { id: string }) => db.deleteFrom('workspaces').where('id', '=', p.id));
  const mark = run((p: { id: string; at: number }) =>
    db.updateTable('workspaces').set({ deleted_at: p.at, name_key: null }).where('id', '=', p.id),
  );

  return {
    insertWorkspace: (row: WorkspaceRow) => fetch(db.insertInto('workspaces').values(row)),
    getWorkspace: one((p: { id: string }) => views().where('workspaces.id', '=', p.id)),
    getWorkspaceNamed: one((p: { nameKey: string }) => views().where('name_key', '=', p.nameKey)),
    /** The one whose own directory that is; views show what belongs to another. */
    getWorkspaceAt: one((p: { nodeId: string; path: string }) =>
      live().where('path', '=', p.path).where('node_id', '=', p.nodeId).where('view_of', 'is', null),
    ),
    /** By name, from the one after `after`. */
    listWorkspaces: all((p: { after: string; limit: number }) =>
      views().where('name_key', '>', p.after).orderBy('name_key').limit(p.limit),
    ),
    listWorkspacesOf: all((p: { ownerId: string }) => views().where('owner_id', '=', p.ownerId).orderBy('name_key')),
    /** Every directory of this node that agents may write in. */
    listWorkspacePaths: all((p: { nodeId: string }) =>
      db
        .selectFrom('workspaces')
        .select(['id', 'path'])
        .where('node_id', '=', p.nodeId)
        .where('deleted_at', 'is', null),
    ),
    listViewsOf: all((p: { id: string }) => live().where('view_of', '=', p.id).orderBy('name_key')),
    listDeletedWorkspaces: all((p: { nodeId: string }) =>
      db.selectFrom('workspaces').selectAll().where('node_id', '=', p.nodeId).where('deleted_at', 'is not', null),
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
        .select(['id', 'handle', 'terminated_at'])
        .where('workspace_id', '=', p.workspaceId)
        .orderBy('created_at')
        .orderBy('id'),
    ),
    insertLink: (row: LinkRow) => fetch(db.insertInto('links').values(row)),
    deleteLink: run((p: { workspaceId: string; target: string }) =>
      db.deleteFrom('links').where('workspace_id', '=', p.workspaceId).where('target', '=', p.target),
    ),
    listLinks: all((p: { workspaceId: string }) =>
      db.selectFrom('links').selectAll().where('workspace_id', '=', p.workspaceId).orderBy('target'),
    ),
    /** Every link of this node's workspaces. */
    listLinksOn: all((p: { nodeId: string }) =>
      db
        .selectFrom('links')
        .innerJoin('workspaces', 'workspaces.id', 'links.workspace_id')
        .selectAll('links')
        .select('workspaces.name as workspace')
        .where('workspaces.node_id', '=', p.nodeId),
    ),
  };
}
