import { isAbsolute, join, normalize } from 'node:path';
import { SubstratError } from '../core/errors.ts';
import { shorten } from '../core/text.ts';
import type { Link, Workspace } from '../core/workspace.ts';
import type { WorkspaceView } from '../store/store.ts';
import { type Caller, checkSource, findOwnWorkspace, type Mode, sourceOf, type WorkspaceRules } from './access.ts';
import { checkDirectory, isInside, refuseLinks } from './paths.ts';
import type { Tx } from './tx.ts';

export interface LinkWish {
  readonly workspace: string;
  readonly source: string;
  readonly target: string;
  readonly mode: Mode;
}

/** The checks on disk before a link is stored; `placeOf` checks again before every run. */
export async function checkLink(tx: Tx, rules: WorkspaceRules, caller: Caller, wish: LinkWish): Promise<void> {
  if (caller.agent && !rules.inForce) {
    const message = 'Links need a sandbox, and this daemon runs without one ([sandbox] mode = "none").';
    throw new SubstratError('unsupported', message);
  }
  const workspace = await findOwnWorkspace(tx, caller, wish.workspace);
  const target = join(workspace.path, readTarget(wish.target));
  const source = sourceOf(caller, wish.source);
  await checkSource(tx, rules, caller, { source, mode: wish.mode });
  checkDirectory(source);
  if (isInside(source, target) || isInside(target, source)) {
    throw new SubstratError('bad_request', 'A directory cannot be linked into or over itself.');
  }
  if (!refuseLinks(target) && workspace.mode === 'ro') {
    const message = `The workspace ${workspace.name} is read-only, so the target must be an existing directory.`;
    throw new SubstratError('bad_request', message);
  }
}

/** Stores a link that passed `checkLink`. */
export async function addLink(
  tx: Tx,
  rules: WorkspaceRules,
  caller: Caller,
  wish: LinkWish,
  now: number,
): Promise<Link> {
  const workspace = await findOwnWorkspace(tx, caller, wish.workspace);
  const target = readTarget(wish.target);
  const links = await tx.workspaces.listLinks({ workspaceId: workspace.id });
  const { maxLinks } = rules.limits;
  if (links.length >= maxLinks) {
    throw new SubstratError(
      'cap_reached',
      `A workspace may have at most ${maxLinks} links (limits.max_links = ${maxLinks}).`,
    );
  }
  const place = join(workspace.path, target);
  for (const taken of await placesAround(tx, workspace)) {
    if (!isInside(taken, place) && !isInside(place, taken)) continue;
    throw new SubstratError('conflict', `A link exists at ${taken}; unlink it first.`);
  }
  const link = {
    workspaceId: workspace.id,
    target,
    source: sourceOf(caller, wish.source),
    mode: wish.mode,
    madeBy: caller.id,
    createdAt: now,
  };
  await tx.workspaces.insertLink(link);
  return link;
}

/** A link is only a mount: its source and its mount point stay unchanged. */
export async function removeLink(
  tx: Tx,
  caller: Caller,
  wish: { readonly workspace: string; readonly target: string },
): Promise<void> {
  const workspace = await findOwnWorkspace(tx, caller, wish.workspace);
  if (await tx.workspaces.tryDeleteLink({ workspaceId: workspace.id, target: readTarget(wish.target) })) return;
  throw new SubstratError('not_found', `${workspace.name} does not have a link at "${shorten(wish.target)}".`);
}

function readTarget(target: string): string {
  const parts = target.split('/');
  const path = normalize(target).replace(/\/$/, '');
  if (isAbsolute(target) || parts.includes('..') || target.includes('\0') || path === '.') {
    throw new SubstratError('bad_request', 'The target must be a path inside the workspace, without "..".');
  }
  return path;
}

/** The link targets in this workspace, in the workspaces it is a view of, and in the views of it. */
async function placesAround(tx: Tx, workspace: Workspace): Promise<string[]> {
  let root: Workspace = workspace;
  while (root.viewOf !== null) root = (await tx.workspaces.getWorkspace({ id: root.viewOf })) as WorkspaceView;
  const family = [root];
  for (const { id } of family) family.push(...(await tx.workspaces.listViewsOf({ id })));
  const places: string[] = [];
  for (const { id, path } of family) {
    places.push(...(await tx.workspaces.listLinks({ workspaceId: id })).map(({ target }) => join(path, target)));
  }
  return places;
}
