import { isAbsolute } from 'node:path';
import type { Agent } from '../core/agent.ts';
import { keyOf } from '../core/agent.ts';
import type { Workspace } from '../core/workspace.ts';
import { findWorkspace, ownNetwork, refuseHome, type WorkspaceRules } from './access.ts';
import { checkNetwork } from './create.ts';
import { isInside } from './paths.ts';
import type { Tx } from './tx.ts';

/** Where a new agent works. */
export interface Workplace {
  readonly path: string;
  readonly workspaceId: string;
  /** A new workspace, which `ownWorkplace` gives to the agent once it is created. */
  readonly own: boolean;
}

export interface WorkplaceWish {
  readonly agentId: string;
  readonly parent: Agent | null;
  /** A workspace's name or a directory. Null: the parent's, otherwise a new one. */
  readonly workspace: string | null;
}

/**
 * The workspace for an agent that a person creates: an existing one, or a new one without an owner until the agent is
 * created.
 */
export async function takeWorkplace(
  tx: Tx,
  rules: WorkspaceRules,
  wish: WorkplaceWish,
  now: number,
): Promise<Workplace> {
  const { parent, workspace: wanted } = wish;
  if (parent?.workspaceId && (wanted === null || isWithin(parent.workspace, wanted))) {
    return { path: wanted ?? parent.workspace, workspaceId: parent.workspaceId, own: false };
  }
  if (wanted !== null && !isAbsolute(wanted)) {
    const { id, path } = await findWorkspace(tx, { id: '', agent: null }, wanted);
    if (parent) await checkNetwork(tx, rules, parent.workspaceId, id);
    return { path, workspaceId: id, own: false };
  }
  if (wanted !== null) {
    await refuseHome(tx, rules, wanted);
    const there = await tx.workspaces.getWorkspaceAt({ nodeId: rules.nodeId, path: wanted });
    if (there && parent) await checkNetwork(tx, rules, parent.workspaceId, there.id);
    if (there) return { path: there.path, workspaceId: there.id, own: false };
  }
  const row = unclaimed(rules, wish.agentId, now, {
    ...(wanted !== null && { path: wanted, made: false }),
    network: await ownNetwork(tx, parent?.workspaceId ?? null),
  });
  await tx.workspaces.insertWorkspace(row);
  return { path: row.path, workspaceId: row.id, own: true };
}

/** The name of a workspace is never within a directory. */
function isWithin(directory: string, wanted: string): boolean {
  return isAbsolute(wanted) && isInside(directory, wanted);
}

/** Gives the new agent its workspace, named after its handle, with a suffix if the name is taken. */
export async function ownWorkplace(tx: Tx, { id, handle }: Agent, workspaceId: string): Promise<void> {
  let name = handle;
  for (let n = 2; await tx.workspaces.getWorkspaceNamed({ nameKey: keyOf(name) }); n += 1) name = `${handle}.${n}`;
  await tx.workspaces.reviveWorkspace({ id: workspaceId, ownerId: id, name, nameKey: keyOf(name) });
}

/** A workspace that counts as deleted until it is claimed: if that never happens, the next start removes it. */
export function unclaimed(
  rules: Pick<WorkspaceRules, 'nodeId' | 'directory'>,
  id: string,
  now: number,
  change: Partial<Workspace> = {},
): Workspace {
  return {
    id,
    name: id,
    nameKey: null,
    ownerId: 'user',
    path: rules.directory(id),
    made: true,
    nodeId: rules.nodeId,
    viewOf: null,
    mode: 'rw',
    network: null,
    repository: null,
    createdAt: now,
    deletedAt: now,
    ...change,
  };
}
