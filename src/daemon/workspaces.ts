import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { SubstratError } from '../core/errors.ts';
import { troubleOf } from '../core/failure.ts';
import { tellPerson } from '../messaging/replies.ts';
import type { WorkspaceView } from '../store/store.ts';
import type { WorkspaceRules } from '../workspaces/access.ts';
import { checkRemoval, deleteWorkspace, settleWorkspace } from '../workspaces/remove.ts';
import type { Home } from './home.ts';
import type { Node, Stored } from './node.ts';

const OWNER = { id: 'user', agent: null };

export function workspaceRules(
  config: { readonly sandbox: Pick<Config['sandbox'], 'roots' | 'network'>; readonly limits: Config['limits'] },
  home: Pick<Home, 'path' | 'nodeId'>,
  mode: string,
  parts: Pick<WorkspaceRules, 'git' | 'isLive'>,
): WorkspaceRules {
  const path = realpathSync(home.path);
  const { maxWorkspaces, maxLinks } = config.limits;
  return {
    nodeId: home.nodeId,
    home: path,
    roots: config.sandbox.roots,
    network: config.sandbox.network,
    inForce: mode !== 'none',
    limits: { maxWorkspaces, maxLinks },
    directory: (id) => join(path, 'workspaces', id),
    agentDirectory: (id) => join(path, 'agents', id),
    ...parts,
  };
}

/**
 * Removes workspaces that a crashed daemon had begun to delete, or had created for an agent that was never stored.
 * Failures are left to the next start: a workspace that is marked as deleted is not visible.
 */
export async function sweepWorkspaces(
  { store, home, log }: Pick<Node, 'store' | 'home' | 'log'>,
  rules: WorkspaceRules,
): Promise<void> {
  for (const workspace of await store.read((tx) => tx.workspaces.listDeletedWorkspaces({ nodeId: home.nodeId }))) {
    await settleWorkspace(store, rules, workspace).catch((error: Error) => {
      log.error({ workspace: workspace.path, error: error.message }, 'a workspace could not be removed');
    });
  }
}

interface Tidying extends Pick<Node, 'store' | 'clock' | 'log'> {
  readonly stored: Stored;
  readonly workspaces: WorkspaceRules;
}

/** Removes the worktree of a terminated agent, unless other agents use it or it contains uncommitted work. */
export async function tidyWorktree(tidying: Tidying, agentId: string): Promise<void> {
  const { store, stored, clock, log } = tidying;
  const found = await stored(() =>
    store.read(async (tx) => {
      const agent = await tx.agents.getAgent({ id: agentId });
      if (!agent?.terminatedAt || agent.workspaceId === null) return null;
      const worktree = await tx.workspaces.getWorkspace({ id: agent.workspaceId });
      if (!worktree || worktree.repository === null) return null;
      const inhabitants = await tx.workspaces.listInhabitants({ workspaceId: worktree.id });
      return inhabitants.some(({ terminatedAt }) => terminatedAt === null) ? null : { agent, worktree };
    }),
  );
  if (!found) return;
  const { agent, worktree } = found;
  try {
    await removeIdle(tidying, worktree);
  } catch (error) {
    // Either the workspace is marked as deleted and the next start removes it, or the daemon stopped before the write.
    if (troubleOf(error) === 'store') throw error;
    if (!(error instanceof SubstratError)) log.error({ error: (error as Error).message }, 'a worktree is kept');
    const text = `${agent.handle} was terminated. ${(error as Error).message}`;
    await stored(() => store.write((tx) => tellPerson(tx, agent, text, clock())));
  }
}

async function removeIdle({ store, stored, clock, workspaces }: Tidying, worktree: WorkspaceView): Promise<void> {
  const { id } = worktree;
  await stored(() => checkRemoval(store, workspaces, OWNER, id));
  const deleted = await stored(() =>
    store.write(async (tx) => {
      // An earlier attempt may have deleted it although it reported an error.
      if (!(await tx.workspaces.getWorkspace({ id }))) return { ...worktree, deletedAt: clock() };
      return deleteWorkspace(tx, workspaces, OWNER, id, clock());
    }),
  );
  await settleWorkspace(store, workspaces, deleted);
}
