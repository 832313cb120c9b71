import { SYSTEM_ID } from '../core/agent.ts';
import type { Run } from '../core/run.ts';
import { post } from './post.ts';
import type { Tx } from './tx.ts';

/** Nobody waits for a run that was poked, so this notifies the agent's parent that it has failed again. */
export async function tellFailedAgain(tx: Tx, run: Run, reason: string, now: number): Promise<void> {
  const agent = await tx.agents.getAgent({ id: run.agentId });
  const team = agent?.parentId ? await tx.channels.getTeamChannel({ teamOf: agent.parentId }) : null;
  if (!agent?.parentId || !team) return;
  const text = `${agent.name} failed again after poke: ${reason}`;
  const recipients = [{ agentId: agent.parentId, kind: 'news' }] as const;
  const notice = { channelId: team.id, authorId: SYSTEM_ID, runId: null, kind: 'notice', text } as const;
  await post(tx, { ...notice, chainDepth: run.chainDepth + 1, payerId: run.payerId, recipients }, now);
}
