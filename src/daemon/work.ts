import { existsSync } from 'node:fs';
import type { Agent } from '../core/agent.ts';
import { SubstratError } from '../core/errors.ts';
import type { SavedWork, Wip } from '../core/wip.ts';
import type { AgentGit } from '../workspaces/agent-git.ts';
import { remoteKey } from '../workspaces/own-git.ts';
import { wipDirectory } from '../workspaces/reach.ts';
import { cloneInto, restoreWork } from '../workspaces/wip-restore.ts';
import { saveWork } from '../workspaces/wip-save.ts';
import { refuseWrittenRemote } from '../workspaces/worktree.ts';
import type { Node } from './node.ts';

export interface Working extends Pick<Node, 'store' | 'home' | 'config' | 'log'> {
  readonly git: AgentGit;
  /** The directory of a workspace on this node. */
  readonly directory: (id: string) => string;
}

/** Git workspaces of this node: made by a clone, pushed after each turn, restored on another node. */
export function createWork({ store, home, config, log, git, directory }: Working) {
  const repositoryOf = (workspaceId: string) => `${directory(workspaceId)}.git`;
  const restoringFor = (workspaceId: string, agentId: string) => ({
    git,
    repository: repositoryOf(workspaceId),
    agentDirectory: home.agentDirectory(agentId),
  });
  const ownRemote = (): string => {
    const { wipRemote } = config.node;
    if (wipRemote !== null) return wipRemote;
    const message = 'A git workspace needs `[node] wip_remote`: the address of a repository for work in progress.';
    throw new SubstratError('not_configured', message);
  };
  const checkAddress = (address: string) => store.read((tx) => refuseWrittenRemote(tx, home.nodeId, address));
  const placeOf = async (workspaceId: string | null) => {
    if (workspaceId === null) return null;
    return store.read(async (tx) => {
      const workspace = await tx.workspaces.getWorkspace({ id: workspaceId });
      const wip = workspace && (await tx.wips.getWip({ workspaceId }));
      return workspace && wip ? { wip, root: wipDirectory({ directory }, workspace, wip) } : null;
    });
  };
  /** Restores the recorded state into the directory that the workspace has after `moves` moves. */
  const restore = async (wip: Wip, root: string): Promise<void> => {
    if (existsSync(root)) return;
    const remote = ownRemote();
    if (remoteKey(remote) !== wip.remote) {
      throw new SubstratError('conflict', '`[node] wip_remote` is not where the workspace was pushed to.');
    }
    await checkAddress(remote);
    await restoreWork(restoringFor(wip.workspaceId, wip.agentId), root, wip, remote);
  };
  return {
    /** Clones the repository for an agent that does not exist yet. */
    clone: async (workspaceId: string, root: string, address: string): Promise<Wip> => {
      const remote = remoteKey(ownRemote());
      for (const one of [address, ownRemote()]) await checkAddress(one);
      const { base, branch, source } = await cloneInto(restoringFor(workspaceId, workspaceId), root, address);
      const state = { hash: null, head: base, branch, runId: null, saved: false, problem: null, leftOut: [], moves: 0 };
      return { workspaceId, agentId: workspaceId, remote, source, base, ...state };
    },
    restore,
    directoryAfter: (workspaceId: string, moves: number) => `${directory(workspaceId)}.${moves}`,
    /** Before a turn: the directory is there. */
    prepare: async ({ workspaceId }: Agent): Promise<void> => {
      const place = await placeOf(workspaceId);
      if (place && place.wip.moves > 0) await restore(place.wip, place.root);
    },
    /** After a turn that ended well, before its end is stored. Null if the agent has another kind of workspace. */
    save: async (agent: Agent, runId: string): Promise<SavedWork | null> => {
      const place = await placeOf(agent.workspaceId);
      if (!place || !config.node.portable || config.node.wipRemote === null) return null;
      const { wip, root } = place;
      const at = { root, directory: root, agentDirectory: home.agentDirectory(agent.id), binds: [] };
      const saving = { git, repository: repositoryOf(wip.workspaceId), remote: config.node.wipRemote };
      const { workspaceId } = wip;
      const work = await checkAddress(saving.remote).then(
        () => saveWork(saving, at, wip, runId),
        (error: Error): SavedWork => ({ workspaceId, problem: error.message, leftOut: [] }),
      );
      if (work.problem !== null)
        log.warn({ agentId: agent.id, error: work.problem }, 'work in progress was not pushed');
      return work;
    },
  };
}

export type Work = ReturnType<typeof createWork>;
