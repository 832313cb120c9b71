import { isAbsolute, join } from 'node:path';
import { checkName, keyOf } from '../core/agent.ts';
import { SubstratError } from '../core/errors.ts';
import { newId } from '../core/id.ts';
import type { Workspace } from '../core/workspace.ts';
import type { WorkspaceView } from '../store/store.ts';
import {
  type Caller,
  findWorkspace,
  grantsOf,
  type Mode,
  networkOf,
  ownNetwork,
  refuseHome,
  type WorkspaceRules,
} from './access.ts';
import { checkDirectory, isInside } from './paths.ts';
import type { Tx } from './tx.ts';

export interface WorkspaceWish {
  readonly name: string;
  /** A person's directory; null to create one. */
  readonly path: string | null;
  readonly viewOf: string | null;
  readonly subdir: string | null;
  readonly mode: Mode;
  readonly network: readonly string[] | null;
}

/** The checks on disk before a workspace is stored. */
export async function checkWorkspace(
  tx: Tx,
  rules: WorkspaceRules,
  caller: Caller,
  wish: WorkspaceWish,
): Promise<void> {
  checkName(wish.name);
  if (wish.path !== null && wish.viewOf !== null) {
    throw new SubstratError('bad_request', 'A view shows another workspace and cannot have a directory of its own.');
  }
  if (wish.path !== null) {
    await refuseHome(tx, rules, wish.path);
    checkDirectory(wish.path);
  }
  if (wish.viewOf !== null) checkDirectory((await shownBy(tx, caller, wish)).path);
}

/**
 * Stores a workspace that passed `checkWorkspace`. Its directory is created afterwards, and again whenever it is
 * missing.
 */
export async function createWorkspace(
  tx: Tx,
  rules: WorkspaceRules,
  caller: Caller,
  wish: WorkspaceWish,
  now: number,
): Promise<WorkspaceView> {
  checkName(wish.name);
  await checkCap(tx, rules, caller);
  const nameKey = keyOf(wish.name);
  const taken = await tx.workspaces.getWorkspaceNamed({ nameKey });
  if (taken)
    throw new SubstratError('name_taken', `The name "${wish.name}" is already used by the workspace ${taken.id}.`);
  if (wish.viewOf === null && wish.subdir !== null) {
    throw new SubstratError('bad_request', 'A subdirectory needs `view_of`, the workspace to view.');
  }
  const id = newId();
  const shown = wish.viewOf === null ? null : await shownBy(tx, caller, wish);
  const row: Workspace = {
    id,
    name: wish.name,
    nameKey,
    ownerId: caller.id,
    path: shown?.path ?? wish.path ?? rules.directory(id),
    made: !shown && wish.path === null,
    nodeId: shown?.base.nodeId ?? rules.nodeId,
    viewOf: shown?.base.id ?? null,
    mode: shown ? wish.mode : 'rw',
    network: await networkFor(tx, caller, wish),
    repository: null,
    createdAt: now,
    deletedAt: null,
  };
  await tx.workspaces.insertWorkspace(row);
  return (await tx.workspaces.getWorkspace({ id })) as WorkspaceView;
}

/** The directory that a view shows: within what its creator has of the other workspace, and never with a wider mode. */
async function shownBy(
  tx: Tx,
  caller: Caller,
  wish: WorkspaceWish,
): Promise<{ readonly base: WorkspaceView; readonly path: string }> {
  const base = await findWorkspace(tx, caller, wish.viewOf ?? '');
  const subdir = wish.subdir ?? '';
  const path = join(base.path, subdir, '.');
  const refuse = (message: string) => {
    throw new SubstratError('forbidden', message);
  };
  if (subdir.includes('\0') || isAbsolute(subdir) || !isInside(base.path, path)) {
    refuse('subdir must be a directory inside the viewed workspace.');
  }
  const has = caller.agent
    ? (await grantsOf(tx, caller.agent)).some(({ directory }) => isInside(directory, path))
    : true;
  if (!has) refuse('You can see only a part of that workspace, so a view cannot show more.');
  if (wish.mode === 'rw' && base.mode === 'ro')
    refuse(`The workspace ${base.name} is read-only, so a view of it must be read-only too.`);
  return { base, path };
}

/** An agent's workspace inherits the network of the one it works in; a view that of what it shows. */
async function networkFor(tx: Tx, { agent }: Caller, wish: WorkspaceWish): Promise<readonly string[] | null> {
  if (!agent) return wish.network;
  if (wish.viewOf !== null || agent.workspaceId === null) return null;
  return ownNetwork(tx, agent.workspaceId);
}

/** A child can reach no host that its parent cannot reach. */
export async function checkNetwork(
  tx: Tx,
  rules: WorkspaceRules,
  parentId: string | null,
  childId: string,
): Promise<void> {
  const allowed = await networkOf(tx, rules, parentId);
  const beyond = (await networkOf(tx, rules, childId)).filter((host) => !allowed.includes(host));
  if (beyond.length === 0) return;
  const message = `A child cannot reach hosts that its parent cannot reach: ${beyond.join(', ')}.`;
  throw new SubstratError('forbidden', message);
}

async function checkCap(tx: Tx, rules: WorkspaceRules, { agent }: Caller): Promise<void> {
  const { maxWorkspaces } = rules.limits;
  if (!agent || (await tx.workspaces.listWorkspacesOf({ ownerId: agent.id })).length < maxWorkspaces) return;
  const message = `An agent may own at most ${maxWorkspaces} workspaces (limits.max_workspaces = ${maxWorkspaces}).`;
  throw new SubstratError('cap_reached', message);
}
