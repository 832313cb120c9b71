import type { AgentId, RunId } from './ids.ts';
import type { SessionKey } from './session.ts';

/** One try at a run. Each of its writes checks its fence. */
export interface Attempt {
  readonly runId: RunId;
  readonly agentId: AgentId;
  readonly treeId: AgentId;
  readonly fence: number;
  readonly number: number;
  /** The session of the provider that executes it, even if the agent's provider changes meanwhile. */
  readonly session: SessionKey;
  /** Joined by an external program: open-ended, without a slot, never retried. */
  readonly external: boolean;
}
