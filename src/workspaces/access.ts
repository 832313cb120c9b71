import { realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join, normalize } from 'node:path';
import type { Agent } from '../core/agent.ts';
import { keyOf } from '../core/agent.ts';
import { SubstratError } from '../core/errors.ts';
import { isIdEnding, onlyIdEnding } from '../core/short-id.ts';
import { shorten } from '../core/text.ts';
import type { Workspace } from '../core/workspace.ts';
import type { WorkspaceView } from '../store/store.ts';
import type { AgentGit } from './agent-git.ts';
import { isInside } from './paths.ts';
import type { Tx } from './tx.ts';

/** The daemon's rules for all workspaces of its node. */
export interface WorkspaceRules {
  readonly nodeId: string;
  /** Substrat's home. */
  readonly home: string;
  /** `[sandbox] roots`. */
  readonly roots: readonly string[];
  /** `[sandbox] network`. */
  readonly network: readonly string[];
  /** Links, modes and networks are enforced by the sandbox; without one they are only stored. */
  readonly inForce: boolean;
  /** Per agent and per workspace. */
  readonly limits: { readonly maxWorkspaces: number; readonly maxLinks: number };
  /** The directory of a workspace that has no path of its own. */
  directory(id: string): string;
  /** An agent's directory in the home. */
  agentDirectory(id: string): string;
  /** Runs git on files of agents, in a sandbox. */
  readonly git: AgentGit;
  /** Whether a process of the agent may still run although the agent has ended. */
  isLive(agentId: string): boolean;
}

export type Mode = Workspace['mode'];

/** The caller: a person, who may do everything except open the home, or an agent. */
export interface Caller {
  readonly id: string;
  readonly agent: Agent | null;
}

/** A directory that an agent has, and whether it may write there. */
interface Grant {
  readonly directory: string;
  readonly mode: Mode;
}

/**
 * Finds a workspace by name or id. An agent sees the ones it owns and the one it works in; others do not exist for
 * it.
 */
export async function findWorkspace(tx: Tx, caller: Caller, reference: string): Promise<WorkspaceView> {
  const { agent } = caller;
  const found =
    (await tx.workspaces.getWorkspaceNamed({ nameKey: keyOf(reference) })) ??
    (await tx.workspaces.getWorkspace({ id: reference })) ??
    (agent ? null : await workspaceEnding(tx, reference));
  if (found && (!agent || found.ownerId === agent.id || found.id === agent.workspaceId)) return found;
  const tip = agent ? 'list_workspaces returns yours' : '`substrat workspace list` shows all';
  throw new SubstratError('not_found', `There is no workspace "${shorten(reference)}"; ${tip}.`);
}

/** By the end of its id, which only people type. */
async function workspaceEnding(tx: Tx, ending: string): Promise<WorkspaceView | null> {
  if (!isIdEnding(ending)) return null;
  const id = onlyIdEnding('workspace', ending, await tx.ids.listIdsEnding({ kind: 'workspaces', ending }));
  return id === null ? null : tx.workspaces.getWorkspace({ id });
}

/** Finds a workspace that the caller may change. Sharing a workspace does not make an agent its owner. */
export async function findOwnWorkspace(tx: Tx, caller: Caller, reference: string): Promise<WorkspaceView> {
  const workspace = await findWorkspace(tx, caller, reference);
  if (!caller.agent || workspace.ownerId === caller.agent.id) return workspace;
  throw new SubstratError('forbidden', `The workspace ${workspace.name} belongs to ${workspace.owner}, not to you.`);
}

/** The workspaces that an agent owns, and the directory it works in. */
export async function grantsOf(tx: Tx, agent: Agent): Promise<Grant[]> {
  const own = await tx.workspaces.listWorkspacesOf({ ownerId: agent.id });
  const current = agent.workspaceId === null ? null : await tx.workspaces.getWorkspace({ id: agent.workspaceId });
  return [
    { directory: agent.workspace, mode: current?.mode ?? 'rw' },
    ...own.map(({ path, mode }) => ({ directory: path, mode })),
  ];
}

/** Resolves the directory lexically; an agent's path may be relative to where it works. */
export function sourceOf(caller: Caller, source: string): string {
  const path = caller.agent && !isAbsolute(source) ? join(caller.agent.workspace, source) : source;
  if (!isAbsolute(path)) throw new SubstratError('bad_request', 'The source must be an absolute path.');
  const normal = normalize(path);
  return normal.length > 1 && normal.endsWith('/') ? normal.slice(0, -1) : normal;
}

/**
 * Whether the caller may link from there. Decided by the path alone before the disk is accessed, because a refusal
 * must not reveal whether the path exists.
 */
export async function checkSource(
  tx: Tx,
  rules: WorkspaceRules,
  caller: Caller,
  { source, mode }: { readonly source: string; readonly mode: Mode },
): Promise<void> {
  if (!caller.agent) return refuseHome(tx, rules, source);
  if (isInside(source, rules.home)) throw outside(source);
  const grants = (await grantsOf(tx, caller.agent)).filter(({ directory }) => isInside(directory, source));
  if (grants.some((grant) => mode === 'ro' || grant.mode === 'rw')) return;
  if (grants.length > 0) {
    throw new SubstratError('forbidden', 'You have that directory read-only; link it with mode "ro".');
  }
  const roots = rules.roots.map(realPath).filter((root) => isInside(root, source));
  const secret = realPath(join(homedir(), '.ssh'));
  const opened = isInside(secret, source)
    ? roots.some((root) => isInside(secret, root))
    : roots.length > 0 && !isInside(source, secret);
  if (!opened || isInside(rules.home, source)) throw outside(source);
  if (mode === 'rw') {
    throw new SubstratError(
      'forbidden',
      'Directories in [sandbox] roots are read-only for agents. Only a person can link them with mode "rw".',
    );
  }
}

/** Nobody gets Substrat's home with its store and sockets; only the workspaces inside it. */
export async function refuseHome(tx: Tx, rules: WorkspaceRules, path: string): Promise<void> {
  const home = realPath(rules.home);
  const refuse = (how: string) => {
    throw new SubstratError(
      'forbidden',
      `${shorten(path, 200)} ${how} the home of Substrat, which agents must not see.`,
    );
  };
  if (isInside(path, home)) refuse('contains');
  if (!isInside(home, path)) return;
  const workspaces = await tx.workspaces.listWorkspacePaths({ nodeId: rules.nodeId });
  if (!workspaces.some((workspace) => isInside(workspace.path, path))) refuse('is in');
}

/** The hosts that a workspace can reach. */
export async function networkOf(tx: Tx, rules: WorkspaceRules, workspaceId: string | null): Promise<readonly string[]> {
  const said = await ownNetwork(tx, workspaceId);
  return said === null ? rules.network : said;
}

/** The network setting of a workspace, or of the workspaces it is a view of; null if the configuration decides. */
export async function ownNetwork(tx: Tx, workspaceId: string | null): Promise<readonly string[] | null> {
  const workspace = workspaceId === null ? null : await tx.workspaces.getWorkspace({ id: workspaceId });
  if (!workspace) return null;
  return workspace.network ?? ownNetwork(tx, workspace.viewOf);
}

function outside(source: string): SubstratError {
  return new SubstratError(
    'forbidden',
    `You cannot link ${shorten(source, 200)}: only directories in [sandbox] roots and in your own workspaces can be linked.`,
  );
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
