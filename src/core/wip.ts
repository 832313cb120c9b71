import type { AgentId, RunId, WorkspaceId } from './ids.ts';

/** A git workspace: a clone whose work in progress is pushed after each turn, so that another node can continue. */
export interface Wip {
  readonly workspaceId: WorkspaceId;
  /** The agent that it was made for; the ref has its id. */
  readonly agentId: AgentId;
  /** Which remote: the digest of its address (`remoteKey`), because the address may contain a login. */
  readonly remote: string;
  /** The address that it was cloned from, without a login. */
  readonly source: string;
  /** The commit that it began with. */
  readonly base: string;
  /** The commit that was pushed last; null: none yet. */
  readonly hash: string | null;
  /** What was checked out at that time; null: a branch without commits, a detached HEAD. */
  readonly head: string | null;
  readonly branch: string | null;
  /** The run after which it was pushed. */
  readonly runId: RunId | null;
  /** The last completed turn in the workspace is part of it. */
  readonly saved: boolean;
  /** Why the last turn is not; null if it is, or if there was none. */
  readonly problem: string | null;
  /** Files that are not part of it, and why. */
  readonly leftOut: readonly string[];
  /** How often it has moved to another node. Each move has a directory of its own. */
  readonly moves: number;
}

/** The state of a workspace after a turn, or why it was not saved. */
export type SavedWork =
  | (Pick<Wip, 'workspaceId' | 'head' | 'branch' | 'leftOut'> & { readonly hash: string; readonly problem: null })
  | { readonly workspaceId: WorkspaceId; readonly problem: string; readonly leftOut: readonly string[] };

export function wipRef(agentId: AgentId): string {
  return `refs/substrat/wip/${agentId}`;
}
