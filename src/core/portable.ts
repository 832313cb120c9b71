import type { Agent } from './agent.ts';
import { EXTERNAL } from './provider-names.ts';
import type { Session } from './session.ts';
import type { Wip } from './wip.ts';

/**
 * Whether another node could take an agent over if its own died.
 * portable: with its session. not_yet: it would start a new session, because the last turn's is not stored; of a git
 * workspace, the last turn's files are not pushed.
 * local: its workspace is only on its node, or its program runs outside of Substrat.
 */
export const PORTABILITIES = ['portable', 'not_yet', 'local'] as const;
export type Portability = (typeof PORTABILITIES)[number];

/** What it is derived from. */
export interface PortabilityFacts extends Pick<Agent, 'provider' | 'workspace'> {
  /** `[node] shared` of its node; null if the node never registered. */
  readonly nodeShared: readonly string[] | null;
  readonly nodeWipRemote: string | null;
  /** Its workspace is a person's directory or a git workspace, without links, and neither a view nor a worktree. */
  readonly plain: boolean;
  readonly sessionHandle: Session['handle'];
  readonly sessionSnapshot: Session['snapshot'];
  /** Of a git workspace; null for others. */
  readonly wipRemote: Wip['remote'] | null;
  readonly wipHash: Wip['hash'];
  readonly wipRunId: Wip['runId'];
  readonly wipSaved: Wip['saved'] | null;
  readonly wipProblem: Wip['problem'];
  readonly wipLeftOut: Wip['leftOut'] | null;
}

/** Null if its node shares nothing: nothing of it is meant to move. */
export function portabilityOf(facts: PortabilityFacts): Portability | null {
  const { nodeShared, nodeWipRemote, plain, workspace, provider, sessionHandle, sessionSnapshot } = facts;
  if (nodeShared === null || (nodeShared.length === 0 && nodeWipRemote === null)) return null;
  const isGit = facts.wipRemote !== null && facts.wipRemote === nodeWipRemote;
  if (provider === EXTERNAL || !plain || !(isGit || isShared(nodeShared, workspace))) return 'local';
  if (isGit && !isPushed(facts)) return 'not_yet';
  return sessionHandle !== null && sessionSnapshot === null ? 'not_yet' : 'portable';
}

/** Whether the files after the last completed turn in a git workspace are on its remote. */
export function isPushed({ wipHash, wipSaved }: Pick<PortabilityFacts, 'wipHash' | 'wipSaved'>): boolean {
  return wipHash !== null && wipSaved === true;
}

/** Whether one of the directories contains the path. */
export function isShared(directories: readonly string[], path: string): boolean {
  return directories.some((directory) => path === directory || path.startsWith(`${directory.replace(/\/$/, '')}/`));
}
