import type { Agent } from './agent.ts';
import type { AgentId, RunId } from './ids.ts';

/** A turn resumes a session only where all of these match. */
export interface SessionKey {
  readonly agentId: AgentId;
  readonly provider: string;
  /** '' for a provider without accounts. */
  readonly account: string;
  /** The path of the workspace as the provider's program sees it. */
  readonly insidePath: string;
}

/** A conversation with a provider, and how much of the agent's work it knows. */
export interface Session extends SessionKey {
  /** What the provider calls it; null: it has no name for it, or lost it. */
  readonly handle: string | null;
  /** The last completed run that it saw. Retention may have removed that run. */
  readonly lastRunId: RunId | null;
  readonly lastRunSeq: number;
  /** The provider lost it, and no turn has ended well since. */
  readonly lost: boolean;
  /** The stored files of the session as they were after `lastRunId`; null: not portable yet. */
  readonly snapshot: string | null;
  /** Its handle at that time. */
  readonly snapshotHandle: string | null;
  /** The name of the node that the agent was taken over from, until a turn has ended well since. */
  readonly takenFrom: string | null;
}

/** The session that a turn of the agent would resume now. */
export function sessionKeyOf(agent: Pick<Agent, 'id' | 'provider' | 'account' | 'workspace'>): SessionKey {
  return { agentId: agent.id, provider: agent.provider, account: agent.account, insidePath: agent.workspace };
}
