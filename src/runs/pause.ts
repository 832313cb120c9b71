import type { Agent } from '../core/agent.ts';
import { agentStatus, showStatus } from '../core/status.ts';
import type { AgentView } from '../store/store.ts';
import type { Correspondence } from './endings.ts';
import type { Tx } from './tx.ts';

/** The agent starts no turn or attempt until it is resumed; messages to it wait. */
export async function pauseAgent(
  tx: Tx,
  correspondence: Pick<Correspondence, 'passTurns'>,
  { id: agentId }: Agent,
  reason: string,
  now: number,
): Promise<void> {
  await tx.agents.setPaused({ id: agentId, at: now, reason });
  const data = { agentId, reason, status: await statusOf(tx, agentId, now) };
  await tx.events.appendEvent({ type: 'agent_paused', at: now, agentId, data });
  await correspondence.passTurns(tx, agentId, now);
}

/** The agent handles what has been waiting. */
export async function resumeAgent(
  tx: Tx,
  correspondence: Pick<Correspondence, 'passStaleTurns'>,
  { id: agentId }: Agent,
  { turnTimeoutMs }: { readonly turnTimeoutMs: number },
  now: number,
): Promise<void> {
  await tx.agents.setPaused({ id: agentId, at: null, reason: null });
  await tx.runs.wakeAgent({ agentId, now });
  const data = { agentId, status: await statusOf(tx, agentId, now) };
  await tx.events.appendEvent({ type: 'agent_resumed', at: now, agentId, data });
  await correspondence.passStaleTurns(tx, now - turnTimeoutMs, now);
}

async function statusOf(tx: Tx, id: string, now: number) {
  return showStatus(agentStatus((await tx.agents.getAgentView({ id })) as AgentView, now));
}
