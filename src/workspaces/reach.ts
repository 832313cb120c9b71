import { join, relative } from 'node:path';
import type { Agent } from '../core/agent.ts';
import type { Bind } from '../core/command.ts';
import { SubstratError } from '../core/errors.ts';
import type { AgentId } from '../core/ids.ts';
import type { Wip } from '../core/wip.ts';
import type { Link, Workspace } from '../core/workspace.ts';
import { checkSource, type Mode, type WorkspaceRules } from './access.ts';
import { hostsOf } from './network.ts';
import { checkDirectory, isInside, makeInside } from './paths.ts';
import type { Tx } from './tx.ts';
import { repositoryBinds } from './worktree.ts';

/** What a turn sees in addition to its own directory, and the hosts it can reach. */
export interface Reach {
  readonly binds: readonly Bind[];
  readonly hosts: readonly string[];
  /** Where the agent's directory is on this node: it has another path inside if it came from another node. */
  readonly source: string;
}

/**
 * The reach of an agent's next turn. Everything is checked again, because directories can have become symlinks since
 * the last turn.
 */
export async function reachOf(tx: Tx, rules: WorkspaceRules, agent: Agent): Promise<Reach> {
  const hosts = await hostsOf(tx, rules, agent);
  const chain = await chainOf(tx, agent.workspaceId);
  const [workspace] = chain;
  const source = await onDisk(tx, rules, chain.at(-1), agent.workspace);
  if (source === agent.workspace) makeWhereItWorks(chain.at(-1), agent.workspace);
  else makeInside(join(source, relative(agent.workspace, chain.at(-1)?.path ?? agent.workspace)), source);
  if (!workspace || !rules.inForce) return { binds: [], hosts, source };
  // A view of a workspace that became read-only is read-only, whatever its own mode.
  const readOnly = chain.some(({ mode }) => mode === 'ro');
  const mounts: Bind[] = readOnly ? [{ ...sameAs(agent.workspace), mode: 'ro' }] : [];
  for (const { link, target, mode } of await linksOf(tx, chain)) {
    const bind = bindFor(agent.workspace, { source: link.source, target, mode });
    if (!bind) continue;
    await checkAgain(tx, rules, link);
    checkDirectory(bind.source);
    if (bind.target !== agent.workspace) makeInside(workspace.path, bind.target);
    mounts.push(bind);
  }
  return { binds: [...mounts, ...chain.flatMap(repositoryBinds)], hosts, source };
}

/** The directory of a git workspace on this node. Its path inside is that of the node where it was made. */
export function wipDirectory(
  rules: Pick<WorkspaceRules, 'directory'>,
  { id, path }: Pick<Workspace, 'id' | 'path'>,
  { moves }: Pick<Wip, 'moves'>,
): string {
  return moves === 0 ? path : `${rules.directory(id)}.${moves}`;
}

/** Where the agent's own directory is on this node. */
export async function ownDirectory(
  tx: Tx,
  rules: Pick<WorkspaceRules, 'directory'>,
  agent: Pick<Agent, 'workspace' | 'workspaceId'>,
): Promise<string> {
  return onDisk(tx, rules, (await chainOf(tx, agent.workspaceId)).at(-1), agent.workspace);
}

async function onDisk(
  tx: Tx,
  rules: Pick<WorkspaceRules, 'directory'>,
  base: Workspace | undefined,
  directory: string,
): Promise<string> {
  const wip = base?.made ? await tx.wips.getWip({ workspaceId: base.id }) : null;
  return base && wip ? join(wipDirectory(rules, base, wip), relative(base.path, directory)) : directory;
}

/** Recreates the directory if Substrat made it. A person's directory is not recreated, but a subdirectory is. */
function makeWhereItWorks(base: Workspace | undefined, directory: string): void {
  if (base?.made) makeInside(join(base.path, '..'), base.path, 0o700);
  if (base && isInside(base.path, directory)) makeInside(base.path, directory);
  checkDirectory(directory);
}

/** The workspace, the one that it is a view of, and so on. */
async function chainOf(tx: Tx, id: string | null): Promise<Workspace[]> {
  const workspace = id === null ? null : await tx.workspaces.getWorkspace({ id });
  return workspace ? [workspace, ...(await chainOf(tx, workspace.viewOf))] : [];
}

/** Where the agent's files are: its directory, or in a link the directory that is linked; with what contains them. */
export async function filesOf(
  tx: Tx,
  rules: Pick<WorkspaceRules, 'directory'>,
  agent: Pick<Agent, 'workspace' | 'workspaceId'>,
): Promise<Files> {
  const chain = await chainOf(tx, agent.workspaceId);
  const base = chain.at(-1);
  const repository = base?.repository ?? null;
  for (const { link, target, mode } of await linksOf(tx, chain)) {
    if (!isInside(target, agent.workspace)) continue;
    const directory = join(link.source, relative(target, agent.workspace));
    return { root: link.source, directory, repository: null, base: null, mode, binds: [] };
  }
  const inside = base && isInside(base.path, agent.workspace) ? base.path : agent.workspace;
  const [root, directory] = [await onDisk(tx, rules, base, inside), await onDisk(tx, rules, base, agent.workspace)];
  const wip = base?.made ? await tx.wips.getWip({ workspaceId: base.id }) : null;
  const mode = chain.some((workspace) => workspace.mode === 'ro') ? 'ro' : 'rw';
  return { root, directory, repository, base: wip?.base ?? null, mode, binds: chain.flatMap(repositoryBinds) };
}

export interface Files {
  readonly root: string;
  readonly directory: string;
  /** For a worktree. */
  readonly repository: string | null;
  /** Of a git workspace: the commit that it began with. */
  readonly base: string | null;
  /** Whether the agent may write them. */
  readonly mode: Mode;
  readonly binds: readonly Bind[];
}

/** Its own links and those of the workspaces it shows; in a read-only view they are read-only. */
async function linksOf(tx: Tx, chain: readonly Workspace[]) {
  const links: { readonly link: Link; readonly target: string; readonly mode: Mode }[] = [];
  let widest: Mode = 'rw';
  for (const { id, path, mode } of chain) {
    for (const link of await tx.workspaces.listLinks({ workspaceId: id })) {
      links.push({ link, target: join(path, link.target), mode: widest === 'ro' ? 'ro' : link.mode });
    }
    if (mode === 'ro') widest = 'ro';
  }
  return links;
}

/** A link as seen from a directory: inside it, or around it if the directory is part of the linked one. */
function bindFor(directory: string, { source, target, mode }: Bind): Bind | null {
  if (isInside(directory, target)) return { source, target, mode };
  if (!isInside(target, directory)) return null;
  return { source: join(source, relative(target, directory)), target: directory, mode };
}

/** Roots may have been removed from the configuration, and the link's creator may have lost workspaces. */
async function checkAgain(tx: Tx, rules: WorkspaceRules, link: Link): Promise<void> {
  try {
    const agent = await tx.agents.getAgent({ id: link.madeBy as AgentId });
    await checkSource(tx, rules, { id: link.madeBy, agent }, link);
  } catch (error) {
    if (!(error instanceof SubstratError)) throw error;
    throw new SubstratError(error.code, `The link ${link.target} is no longer valid: ${error.message}`);
  }
}

function sameAs(path: string): { readonly source: string; readonly target: string } {
  return { source: path, target: path };
}
