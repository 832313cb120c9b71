import type { Agent } from '../core/agent.ts';
import type { AgentId } from '../core/ids.ts';
import type { Workspace } from '../core/workspace.ts';
import type { Store } from '../store/store.ts';
import type { RateLimiter } from './rate.ts';
import type { Terminated, ToolSettings } from './tool.ts';

/** What a call of a tool needs. */
export interface ToolDependencies {
  readonly store: Store;
  readonly clock: () => number;
  readonly settings: ToolSettings;
  readonly limiter: RateLimiter;
  readonly onAgentCreated: (agent: Agent) => Promise<void>;
  readonly onTerminated: (terminated: Terminated) => Promise<void>;
  /** Called after an agent has claimed something that is to be checked. */
  readonly onClaimed: (agentId: AgentId) => void;
  readonly onWorkspaceChanged: (workspace: Workspace) => Promise<void>;
  readonly log: { error(details: object, message: string): void };
}

export interface CallResult {
  readonly result: Readonly<Record<string, unknown>>;
  readonly isError: boolean;
  /** The number of messages in the caller's inbox. */
  readonly news: number;
}
