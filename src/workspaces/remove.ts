import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { SubstratError } from '../core/errors.ts';
import { removeTree } from '../core/remove-tree.ts';
import type { Workspace } from '../core/workspace.ts';
import type { Store, WorkspaceView } from '../store/store.ts';
import { type Caller, findOwnWorkspace, type WorkspaceRules } from './access.ts';
import { isInside, makeInside } from './paths.ts';
import type { Tx } from './tx.ts';
import { isKept, refuseWritten, removeWorktree, uncommitted } from './worktree.ts';

/** Uncommitted work is never removed. */
export async function checkRemoval(
  store: Store,
  rules: WorkspaceRules,
  caller: Caller,
  reference: string,
): Promise<void> {
  const workspace = await store.read(async (tx) => {
    const found = await findOwnWorkspace(tx, caller, reference);
    if (found.repository !== null) await refuseWritten(tx, found.nodeId, found.repository);
    return found;
  });
  const work = await uncommitted(rules, workspace);
  if (work !== '') throw isKept(workspace.path, work);
}

/** Marks an unused workspace as deleted; `settleWorkspace` removes its directory. */
export async function deleteWorkspace(
  tx: Tx,
  rules: WorkspaceRules,
  caller: Caller,
  reference: string,
  now: number,
): Promise<Workspace> {
  const workspace = await findOwnWorkspace(tx, caller, reference);
  await refuseUsed(tx, rules, workspace);
  await tx.workspaces.deleteWorkspace({ id: workspace.id, at: now });
  return { ...workspace, deletedAt: now };
}

/**
 * Makes the disk match the store: creates the directory of a workspace, removes that of a deleted one, if it is ours.
 * The store is written first, so that after a crash the next start finishes the work.
 */
export async function settleWorkspace(store: Store, rules: WorkspaceRules, workspace: Workspace): Promise<void> {
  const { id, made, path, repository } = workspace;
  if (workspace.deletedAt === null) {
    // A git workspace that came from another node is restored before its next turn.
    const wip = made ? await store.read((tx) => tx.wips.getWip({ workspaceId: id })) : null;
    if (made && repository === null && !wip?.moves) makeInside(parentOf(path), path, 0o700);
    return;
  }
  if (repository !== null) await removeWorktree(rules, workspace);
  else if (made) await removeMade(rules, workspace);
  await store.write(async (tx) => {
    await tx.leftovers.leaveRef({ workspaceId: id });
    await tx.workspaces.tryRemoveWorkspace({ id });
  });
}

/** Removes the directory, and what a git workspace has beside it here: the daemon's repository and other directories. */
async function removeMade(rules: WorkspaceRules, { id, path }: Workspace): Promise<void> {
  const own = rules.directory(id);
  const there = existsSync(dirname(own)) ? readdirSync(dirname(own)) : [];
  const beside = there.filter((name) => name === id || name.startsWith(`${id}.`));
  const all = [...beside.map((name) => join(dirname(own), name)), ...(isInside(rules.home, path) ? [path] : [])];
  for (const directory of new Set(all)) await removeTree(directory);
}

async function refuseUsed(tx: Tx, rules: WorkspaceRules, workspace: WorkspaceView): Promise<void> {
  const refuse = (how: string) => {
    throw new SubstratError('conflict', `The workspace ${workspace.name} is in use: ${how}.`);
  };
  for (const { id, handle, terminatedAt } of await tx.workspaces.listInhabitants({ workspaceId: workspace.id })) {
    if (terminatedAt === null) refuse(`${handle} works in it`);
    if (rules.isLive(id)) refuse(`the last turn of ${handle} is still ending; try again in a moment`);
  }
  for (const { name } of await tx.workspaces.listViewsOf({ id: workspace.id })) refuse(`${name} is a view of it`);
  if (!workspace.made) return;
  for (const link of await tx.workspaces.listLinksOn({ nodeId: workspace.nodeId })) {
    const own = link.workspaceId === workspace.id;
    if (!own && isInside(workspace.path, link.source)) refuse(`${link.workspace} has a link to it`);
  }
  for (const { id, path } of await tx.workspaces.listWorkspacePaths({ nodeId: workspace.nodeId })) {
    if (id !== workspace.id && isInside(workspace.path, path)) refuse(`another workspace is inside it (${path})`);
  }
}

function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/'));
}
