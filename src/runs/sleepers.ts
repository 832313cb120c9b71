import type { Store } from '../store/store.ts';

export interface SleeperOptions {
  readonly store: Pick<Store, 'read' | 'write'>;
  readonly nodeId: string;
  readonly clock: () => number;
  readonly log: { error(details: object, message: string): void };
}

/**
 * Wakes agents that have something to do and no run. There should be none: whoever gives an agent something to do wakes
 * it in the same transaction. What is found is a mistake of ours, and no reason to leave it asleep.
 */
export async function wakeSleepers({ store, nodeId, clock, log }: SleeperOptions): Promise<void> {
  const asleep = await store.read((tx) => tx.runs.listSleepers({ nodeId }));
  if (asleep.length === 0) return;
  await store.write((tx) => tx.runs.wakeAllAgents({ nodeId, now: clock() }));
  log.error({ agents: asleep.map(({ id }) => id) }, 'agents with something to do were asleep');
}
