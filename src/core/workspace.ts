import type { NodeId, ParticipantId, WorkspaceId } from './ids.ts';

export type AccessMode = 'ro' | 'rw';

export interface Workspace {
  readonly id: WorkspaceId;
  readonly name: string;
  /** Null once the workspace is deleted. */
  readonly nameKey: string | null;
  readonly ownerId: ParticipantId;
  /** The directory; for a view, the directory that it shows. */
  readonly path: string;
  /** Substrat created the directory and removes it. */
  readonly made: boolean;
  readonly nodeId: NodeId;
  readonly viewOf: WorkspaceId | null;
  readonly mode: AccessMode;
  /** Allowed hosts; null to inherit those of the shown workspace, or of the configuration. */
  readonly network: readonly string[] | null;
  /** For a git worktree: the git directory of its repository. */
  readonly repository: string | null;
  readonly createdAt: number;
  readonly deletedAt: number | null;
}

export interface Link {
  readonly workspaceId: WorkspaceId;
  /** A path inside the workspace. */
  readonly target: string;
  readonly source: string;
  readonly mode: AccessMode;
  readonly madeBy: ParticipantId;
  readonly createdAt: number;
}
