import type { Due } from '../core/due.ts';
import type { Run } from '../core/run.ts';
import { countDeath, setAside } from './deaths.ts';
import { type Correspondence, failAttempt } from './endings.ts';
import { LeaseWatch } from './leases.ts';
import type { Tx } from './tx.ts';

export interface LeaseOptions {
  readonly nodeId: string;
  readonly leaseMs: number;
  readonly monotonic: () => number;
  readonly maxAttempts: number;
  readonly maxDeaths: number;
  readonly correspondence: Correspondence;
  /** Whether the run is under way in this process. */
  readonly isLive: (runId: string) => boolean;
}

/** Runs of a node that no longer renews their leases are tried again. */
export function lostLeases(options: LeaseOptions): Due<Tx> {
  const watch = new LeaseWatch(options);
  let lost = new Map<string, number | null>();
  return {
    next: async (_, now) => (watch.watches() ? now + options.leaseMs / 2 : null),
    isDue: async (tx, now) => {
      // After a long sleep of the machine our own leases have passed, too. Their turns continue, and the next renewal extends them.
      const elsewhere = (await tx.runs.listLeased()).filter((run) => !options.isLive(run.id));
      lost = new Map(watch.look(elsewhere, now).map((run) => [run.id, run.leaseUntil]));
      return lost.size > 0;
    },
    fire: async (tx, now) => {
      // A run that was renewed or taken meanwhile is not lost.
      const runs = (await tx.runs.listLeased()).filter(({ id, leaseUntil }) => lost.get(id) === leaseUntil);
      await giveBack(tx, options, runs, now);
      return false;
    },
  };
}

/** Runs whose node is silent are tried again. For another node's runs a lost lease counts like its death. */
export async function giveBack(
  tx: Tx,
  options: Pick<LeaseOptions, 'nodeId' | 'correspondence' | 'maxAttempts' | 'maxDeaths'>,
  runs: readonly Run[],
  now: number,
): Promise<void> {
  const { nodeId, correspondence, maxAttempts, maxDeaths } = options;
  for (const [node, lost] of Map.groupBy(runs, (run) => run.nodeId)) {
    const guilty = node === nodeId ? null : await countDeath(tx, lost, { maxDeaths, boot: null });
    for (const run of lost) {
      const failure = { kind: 'lease_lost', message: 'The node that ran it stopped sending heartbeats.' } as const;
      if (run === guilty) await setAside(tx, correspondence, run, now);
      else await failAttempt(tx, correspondence, run, failure, { maxAttempts }, now);
    }
  }
}
