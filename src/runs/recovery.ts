import type { AgentRow, Store } from '../store/store.ts';
import { createAttempt } from './attempt.ts';
import { type Correspondence, completeRun, failAttempt } from './endings.ts';

export interface RecoveryOptions {
  readonly store: Store;
  readonly clock: () => number;
  readonly nodeId: string;
  readonly maxAttempts: number;
  readonly correspondence: Correspondence;
  readonly endProcessGroup: (group: {
    pid: number | null;
    startedAt: string | null;
    runId: string;
  }) => Promise<unknown>;
}

/**
 * What a dead daemon left running is ended and tried again; its death is nobody's failure. Called by a starting daemon,
 * which is the only one of its node, before it starts anything itself.
 */
export async function recoverRuns(options: RecoveryOptions): Promise<number> {
  const { store, clock, nodeId, correspondence, maxAttempts, endProcessGroup } = options;
  const orphans = await store.read((tx) => tx.listRunning({ nodeId }));
  await Promise.all(
    orphans.map(({ id, pid, pid_started }) => endProcessGroup({ pid, startedAt: pid_started, runId: id })),
  );
  await store.write(async (tx) => {
    const now = clock();
    for (const run of orphans) {
      const agent = (await tx.getAgent({ id: run.agent_id })) as AgentRow;
      if (agent.provider === 'external') {
        await completeRun(tx, correspondence, createAttempt(run, agent, 0), { finalText: '' }, now);
        continue;
      }
      const failure = { kind: 'daemon_died', message: 'The daemon died during the turn.' } as const;
      await failAttempt(tx, correspondence, run, failure, { maxAttempts }, now);
    }
    await tx.wakeAllAgents({ nodeId, now });
  });
  return orphans.length;
}
