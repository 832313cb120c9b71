import type { Agent } from '../core/agent.ts';
import { EXTERNAL } from '../core/provider-names.ts';
import type { Run } from '../core/run.ts';
import { createAttempt } from './attempt.ts';
import { type Correspondence, completeRun, failAttempt } from './endings.ts';
import type { Tx } from './tx.ts';

/**
 * A person ends the agent's attempt in progress. It does not count; the run is tried again, unless somebody else runs
 * the agent: then its run ends, and what it left open is pending again.
 */
export async function interruptRun(
  tx: Tx,
  correspondence: Correspondence,
  agent: Agent,
  run: Run,
  reason: string,
  now: number,
): Promise<void> {
  if (agent.provider === EXTERNAL) {
    return completeRun(tx, correspondence, createAttempt(run, agent), { finalText: '' }, now);
  }
  const failure = { kind: 'interrupted', message: reason } as const;
  await failAttempt(tx, correspondence, run, failure, { maxAttempts: Number.POSITIVE_INFINITY }, now);
}

/** The agent's next provider cannot continue this run: what it carried is pending again. */
export async function giveUpRun(tx: Tx, run: Run, reason: string, now: number): Promise<void> {
  for (const { messageId } of await tx.deliveries.listCarried({ runId: run.id })) {
    await tx.deliveries.returnDelivery({ messageId, agentId: run.agentId });
  }
  const { id: runId, fence, agentId } = run;
  const end = { state: 'cancelled', stopReason: 'cancelled', error: reason } as const;
  await tx.runs.endRun({ id: runId, fence, ...end, finalText: null, now });
  const data = { runId, agentId, state: end.state, error: reason };
  await tx.events.appendEvent({ type: 'run_ended', at: now, agentId, data });
}
