import type { AgentRow, Store, WorkspaceRow } from '../store/store.ts';
import type { RateLimiter } from './rate.ts';
import type { ToolSettings } from './tool.ts';

/** What a call of a tool needs. */
export interface ToolDependencies {
  readonly store: Store;
  readonly clock: () => number;
  readonly settings: ToolSettings;
  readonly limiter: RateLimiter;
  readonly onAgentCreated: (agent: AgentRow) => Promise<void>;
  readonly onWorkspaceChanged: (workspace: WorkspaceRow) => Promise<void>;
  readonly log: { error(details: object, message: string): void };
}

export interface CallResult {
  readonly result: Readonly<Record<string, unknown>>;
  readonly isError: boolean;
  /** How many messages wait in the inbox of the caller. */
  readonly news: number;
}
