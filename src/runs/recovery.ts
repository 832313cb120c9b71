import type { Agent } from '../core/agent.ts';
import { EXTERNAL } from '../core/provider-names.ts';
import type { Run } from '../core/run.ts';
import type { Store } from '../store/store.ts';
import { createAttempt } from './attempt.ts';
import { countDeath, type DeathRules, setAside } from './deaths.ts';
import { type Correspondence, completeRun, failAttempt } from './endings.ts';
import type { Tx } from './tx.ts';

export interface RecoveryOptions {
  readonly store: Store;
  readonly clock: () => number;
  readonly nodeId: string;
  readonly maxAttempts: number;
  readonly deaths: DeathRules;
  /** Whether the last daemon died; if it was stopped, its store had failed. */
  readonly died: boolean;
  readonly correspondence: Correspondence;
  /** Executes the transaction that gives the runs back, and what else belongs into it. */
  readonly write: (work: (tx: Tx) => Promise<void>) => Promise<void>;
  readonly endProcessGroup: (group: {
    pid: number | null;
    startedAt: string | null;
    runId: string;
  }) => Promise<unknown>;
}

/**
 * Kills what a dead daemon left running and retries it; the daemon's death is not a failure of the agent. Called by a
 * starting daemon, the only one of its node, before it starts anything. Returns the ids of the agents.
 */
export async function recoverRuns(options: RecoveryOptions): Promise<string[]> {
  const { store, clock, nodeId, correspondence, maxAttempts, deaths, died, endProcessGroup, write } = options;
  const orphans = await store.read((tx) => tx.runs.listRunning({ nodeId }));
  await Promise.all(
    orphans.map(({ id, pid, pidStarted }) => endProcessGroup({ pid, startedAt: pidStarted, runId: id })),
  );
  await write(async (tx) => {
    const now = clock();
    const turns: Run[] = [];
    // Another node may have given some of them back meanwhile.
    const running = new Map((await tx.runs.listRunning({ nodeId })).map(({ id, fence }) => [id, fence]));
    for (const run of orphans.filter(({ id, fence }) => running.get(id) === fence)) {
      const agent = (await tx.agents.getAgent({ id: run.agentId })) as Agent;
      if (agent.provider !== EXTERNAL) turns.push(run);
      else await completeRun(tx, correspondence, createAttempt(run, agent), { finalText: '' }, now);
    }
    const guilty = died ? await countDeath(tx, turns, deaths) : null;
    for (const run of turns) {
      if (run === guilty) {
        await setAside(tx, correspondence, run, now);
        continue;
      }
      const failure = { kind: 'daemon_died', message: 'The daemon died during the turn.' } as const;
      await failAttempt(tx, correspondence, run, failure, { maxAttempts }, now);
    }
    await tx.runs.wakeAllAgents({ nodeId, now });
  });
  return orphans.map((run) => run.agentId);
}
