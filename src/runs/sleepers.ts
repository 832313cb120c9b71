import type { Store } from '../store/store.ts';

export interface SleeperOptions {
  readonly store: Pick<Store, 'read' | 'write'>;
  readonly nodeId: string;
  readonly clock: () => number;
  readonly log: { error(details: object, message: string): void };
}

/**
 * Wakes agents that have work and no run. There should not be any, because the write that gives an agent work also
 * wakes it. One that is found is a bug: it is logged, and the agent is woken.
 */
export async function wakeSleepers({ store, nodeId, clock, log }: SleeperOptions): Promise<void> {
  const asleep = await store.read((tx) => tx.runs.listSleepers({ nodeId }));
  if (asleep.length === 0) return;
  await store.write((tx) => tx.runs.wakeAllAgents({ nodeId, now: clock() }));
  log.error({ agents: asleep.map(({ id }) => id) }, 'agents with something to do were asleep');
}
