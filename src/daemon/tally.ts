import { setTimeout as sleep } from 'node:timers/promises';
import type { Store } from '../store/store.ts';

/** A step is one transaction, which blocks other writers for a few milliseconds. */
const STEP = 200;
const PAUSE_MS = 20;

/** Adds the usage of runs that have ended to the totals. */
export async function tallyUsage({ store }: { readonly store: Store }, signal?: AbortSignal): Promise<void> {
  while (!signal?.aborted) {
    const tallied = await store.write((tx) => tx.runs.tallyRuns({ limit: STEP }), 'tally');
    if (tallied < STEP) return;
    await sleep(PAUSE_MS, undefined, { ref: false });
  }
}
