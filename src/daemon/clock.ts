import type { Node } from './node.ts';
import { rearmTimers } from './timers.ts';

type Clocked = Pick<Node, 'store' | 'clock'> & { readonly home: Pick<Node['home'], 'nodeId'> };

/** If the clock was set back while the daemon was down, moves waiting times back by as much. */
export async function followClock({ store, clock, home }: Clocked): Promise<void> {
  const now = clock();
  const { nodeId } = home;
  const node = (await store.read((tx) => tx.nodes.listNodes())).find(({ id }) => id === nodeId);
  const by = now - (node?.record?.clockAt ?? now);
  if (by >= 0) return;
  await store.write(async (tx) => {
    await tx.runs.shiftWaits({ nodeId, by, now });
    await rearmTimers(tx, -by, now);
  });
}
