import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config/config.ts';
import type { Store, Tx } from '../store/store.ts';
import { tallyUsage } from './tally.ts';

export interface RetentionOptions {
  readonly store: Store;
  readonly config: Pick<Config, 'events' | 'retention'>;
  readonly clock: () => number;
}

const KEEP_POSTS_MS = 24 * 3_600_000;
/** A late number of tokens may still arrive for a charge of the day before. */
const KEEP_CHARGES_MS = 24 * 3_600_000;
/** Those of sessions stay. This is the time that a turn has between storing its files and its end. */
const KEEP_SNAPSHOTS_MS = 24 * 3_600_000;
/** A step is one transaction, which blocks other writers. If it takes longer than this, the next one is smaller. */
const LONG_MS = 15;
const SHORT_MS = 4;
const FEWEST = 5;
const MOST = 400;
/** Pause between two steps, so that other writers get most of the time. */
const PAUSE_MS = 20;

/** Removes everything that has expired, in short transactions. Returns the number of removed rows. */
export async function forgetOld({ store, config, clock }: RetentionOptions, signal?: AbortSignal): Promise<number> {
  const now = clock();
  const { messagesMs, runsMs, runMessagesMs, historyMs } = config.retention;
  const before = (ms: number | null) => (ms === null ? null : now - ms);
  const runs = before(runsMs);
  const pace = { limit: 50 };
  let removed = 0;
  if (runs !== null) await tallyUsage({ store }, signal);
  const passes: (readonly [number | null, Pass])[] = [
    [now - config.events.retentionMs, counted((tx, p) => tx.retention.pruneEvents(p))],
    [now - KEEP_POSTS_MS, counted((tx, p) => tx.retention.pruneResponses(p))],
    [now - KEEP_CHARGES_MS, counted((tx, p) => tx.budgets.pruneCharges(p))],
    [now - KEEP_SNAPSHOTS_MS, counted((tx, p) => tx.snapshots.pruneSnapshots(p))],
    // When a run expires, so do its records.
    [latest(before(runMessagesMs), runs), placed((tx, p) => tx.retention.pruneRecords(p), { seq: -1, id: '' })],
    [runs, placed((tx, p) => tx.retention.pruneRuns(p), { seq: -1, id: '' })],
    [before(messagesMs), placed((tx, p) => tx.retention.pruneMessages(p), 0)],
    [before(historyMs), placed((tx, p) => tx.retention.pruneHistory(p), { blockId: '', version: 0 })],
  ];
  for (const [limit, pass] of passes) {
    if (limit === null) continue;
    const step = pass(limit);
    for (let more = true; more && !signal?.aborted; ) {
      const done = await timed(store, pace, step);
      removed += done.removed;
      more = done.more;
      if (more) await sleep(PAUSE_MS, undefined, { ref: false });
    }
  }
  return removed;
}

type Step = (tx: Tx, limit: number) => Promise<{ removed: number; more: boolean }>;
/** Creates the steps that remove rows older than `before`. */
type Pass = (before: number) => () => { readonly step: Step; readonly keep: () => void };

function counted(prune: (tx: Tx, p: { before: number; limit: number }) => Promise<number>): Pass {
  return (before) => () => ({
    step: async (tx, limit) => {
      const removed = await prune(tx, { before, limit });
      return { removed, more: removed >= limit };
    },
    keep: () => {},
  });
}

function placed<Place>(
  prune: (
    tx: Tx,
    p: { before: number; after: Place; limit: number },
  ) => Promise<{ removed: number; next: Place | null }>,
  first: Place,
): Pass {
  return (before) => {
    let after = first;
    return () => {
      let next = after;
      return {
        step: async (tx, limit) => {
          const done = await prune(tx, { before, after, limit });
          next = done.next ?? after;
          return { removed: done.removed, more: done.next !== null };
        },
        // Only a commit advances the position: a transaction may run twice.
        keep: () => {
          after = next;
        },
      };
    };
  };
}

async function timed(
  store: Store,
  pace: { limit: number },
  make: ReturnType<Pass>,
): Promise<{ removed: number; more: boolean }> {
  let took = 0;
  const { step, keep } = make();
  const done = await store.write(async (tx) => {
    const begun = performance.now();
    const result = await step(tx, pace.limit);
    took = performance.now() - begun;
    return result;
  });
  keep();
  if (took > LONG_MS) pace.limit = Math.max(FEWEST, Math.floor(pace.limit / 2));
  else if (took < SHORT_MS) pace.limit = Math.min(MOST, pace.limit * 2);
  return done;
}

function latest(a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b;
  return Math.max(a, b);
}
