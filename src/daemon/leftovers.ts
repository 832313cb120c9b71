import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { isOver, type Leftover } from '../core/leftover.ts';
import { removeTree } from '../core/remove-tree.ts';
import { wipRef } from '../core/wip.ts';
import { openOwn, ownGit, ownGitText, remoteKey } from '../workspaces/own-git.ts';
import type { Node } from './node.ts';

/** How many are looked at in one pass. */
const MOST = 200;
/** Another node's agent may be on its way here: its home is built before the store says so. */
const SETTLED_MS = 300_000;

interface Clearing extends Pick<Node, 'store' | 'home' | 'log'> {
  /** `[node] wip_remote`. */
  readonly wipRemote: string | null;
  readonly isLive: (agentId: string) => boolean;
}

/**
 * Removes the homes of agents that left this node a week ago, and the refs of git workspaces that were deleted then. Only
 * what the store says is left behind: a home that was copied, or whose store was replaced, keeps all of its own.
 */
export async function clearLeftovers(clearing: Clearing, now: number): Promise<void> {
  const { store, home, wipRemote, log } = clearing;
  const refs = wipRemote === null ? [] : [remoteKey(wipRemote)];
  for (const site of [home.nodeId, ...refs]) {
    for (const leftover of await store.read((tx) => tx.leftovers.listLeftovers({ site, limit: MOST }))) {
      const remove = site === home.nodeId ? removeHome : removeRef;
      const isGone = await remove(clearing, leftover, now).catch((error: Error) => {
        log.warn({ agentId: leftover.agentId, error: error.message }, 'what an agent left could not be removed');
        return false;
      });
      if (isGone) await store.write((tx) => tx.leftovers.deleteLeftover(leftover));
    }
  }
}

/** Whether nothing is left to do. */
async function removeHome({ store, home, isLive }: Clearing, leftover: Leftover, now: number): Promise<boolean> {
  const { agentId: id } = leftover;
  const agent = await store.read((tx) => tx.agents.getAgent({ id }));
  // It is back.
  if (agent?.nodeId === home.nodeId) return true;
  const path = home.agentHome(id);
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (!isOver(leftover, now) || isLive(id) || (stats && now - stats.ctimeMs < SETTLED_MS)) return false;
  await removeTree(path);
  return true;
}

/** A ref that is not as it was left belongs to somebody else now. */
async function removeRef({ home, wipRemote }: Clearing, leftover: Leftover, now: number): Promise<boolean> {
  if (!isOver(leftover, now)) return false;
  const [ref, remote] = [wipRef(leftover.agentId), wipRemote as string];
  const repository = await openOwn(join(home.path, 'workspaces', 'leftovers.git'));
  const found = await ownGitText(repository, ['ls-remote', '--', remote, ref], { remote: true });
  if (found.split('\t')[0] !== leftover.hash) return true;
  const lease = `--force-with-lease=${ref}:${leftover.hash}`;
  await ownGit(repository, ['push', '--quiet', '--no-verify', lease, remote, `:${ref}`], { remote: true });
  return true;
}
