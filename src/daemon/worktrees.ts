import { realpathSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { SubstratError } from '../core/errors.ts';
import type { AgentWish } from '../http/api.ts';
import { resolveReference } from '../messaging/reference.ts';
import { freeHandle } from '../messaging/tree.ts';
import { ownNetwork, refuseHome, type WorkspaceRules } from '../workspaces/access.ts';
import { settleWorkspace } from '../workspaces/remove.ts';
import { unclaimed, type Workplace } from '../workspaces/workplace.ts';
import { addWorktree, findRepository, refuseWritten } from '../workspaces/worktree.ts';
import type { Node } from './node.ts';
import type { Work } from './work.ts';

/** Clones a repository for an agent that does not exist yet, in the same way. */
export async function makeClone(
  { store, workspaces, clock, work }: Making & { readonly work: Pick<Work, 'clone'> },
  address: string,
  wish: Pick<AgentWish, 'parent' | 'workspace' | 'worktree'>,
  id: string,
) {
  if (wish.workspace !== null || wish.worktree) {
    throw new SubstratError('bad_request', 'A clone is a workspace of its own: leave out the workspace.');
  }
  const network = await store.read(async (tx) => {
    const parent = wish.parent === null ? null : await resolveReference(tx, wish.parent);
    return ownNetwork(tx, parent?.workspaceId ?? null);
  });
  const row = unclaimed(workspaces, id, clock(), { network });
  await store.write((tx) => tx.workspaces.insertWorkspace(row));
  const undo = () => settleWorkspace(store, workspaces, row);
  const wip = await work.clone(id, row.path, address).catch(async (error: unknown) => {
    await undo();
    throw error;
  });
  return { workplace: { path: row.path, workspaceId: id, own: true }, wip, undo };
}

interface Making extends Pick<Node, 'store' | 'home' | 'clock'> {
  readonly workspaces: WorkspaceRules;
}

/**
 * Creates a worktree for an agent that does not exist yet. Its row counts as deleted until the agent claims it, so
 * that the next daemon removes it if this one crashes in between.
 */
export async function makeWorktree(
  { store, workspaces, home, clock }: Making,
  wish: AgentWish,
  id: string,
): Promise<{ readonly workplace: Workplace; readonly undo: () => Promise<void> }> {
  if (wish.workspace === null || !isAbsolute(wish.workspace)) {
    throw new SubstratError('bad_request', 'A worktree needs a git repository: set the workspace to its directory.');
  }
  const directory = realPath(wish.workspace);
  await store.read((tx) => refuseWritten(tx, home.nodeId, directory));
  const repository = await findRepository(directory);
  const { handle, network } = await store.read(async (tx) => {
    await refuseHome(tx, workspaces, repository);
    await refuseWritten(tx, home.nodeId, repository);
    const parent = wish.parent === null ? null : await resolveReference(tx, wish.parent);
    return {
      handle: await freeHandle(tx, parent, wish.name),
      network: await ownNetwork(tx, parent?.workspaceId ?? null),
    };
  });
  const row = unclaimed(workspaces, id, clock(), { repository, network });
  await store.write((tx) => tx.workspaces.insertWorkspace(row));
  const undoRow = () => settleWorkspace(store, workspaces, row);
  const undoTree = await addWorktree(row, handle).catch(async (error: unknown) => {
    await undoRow();
    throw error;
  });
  return {
    workplace: { path: row.path, workspaceId: id, own: true },
    undo: async () => {
      await undoTree();
      await undoRow();
    },
  };
}

function realPath(directory: string): string {
  try {
    return realpathSync(directory);
  } catch {
    throw new SubstratError('bad_request', `The directory ${directory} does not exist.`);
  }
}
