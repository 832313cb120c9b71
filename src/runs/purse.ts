import type { Agent } from '../core/agent.ts';
import type { Run } from '../core/run.ts';
import { dayOf } from '../core/run.ts';
import type { DeliveryView } from '../store/store.ts';
import type { Tx } from './tx.ts';

/** Who has runs left when a run is claimed. */
export interface Purse {
  readonly maxTreeRuns: number;
  /** People whose runs for today are used up. */
  readonly spent: readonly string[];
}

/** People whose runs for today are used up. */
export async function spentPeople(tx: Tx, runsPerDay: (handle: string) => number, now: number): Promise<string[]> {
  const runs = await tx.trees.listPersonRuns({ day: dayOf(now) });
  return runs.filter((one) => one.runs >= runsPerDay(one.handle)).map(({ personId }) => personId);
}

/**
 * The pending deliveries that somebody pays for: the tree while it is below its cap, or a person with runs left. The
 * rest waits, and later messages of their authors may overtake it, because they belong to other chains.
 */
export async function payableOf<T extends Pick<DeliveryView, 'payerId'>>(
  tx: Tx,
  run: Run,
  pending: readonly T[],
  { maxTreeRuns, spent }: Purse,
): Promise<readonly T[]> {
  // The claim has already counted this run.
  const counted = (await tx.trees.getTree({ id: run.treeId }))?.runsSincePerson ?? 0;
  const pays = ({ payerId }: T) => (payerId === null ? counted <= maxTreeRuns : !spent.includes(payerId));
  const payable = pending.filter(pays);
  // The claim found a payer for a delivery beyond those one run carries.
  return payable.length > 0 ? payable : pending;
}

/**
 * Charges a started run to the person whose message started its chain. Returns a notice for them if it was their last
 * one.
 */
export async function chargeRun(
  tx: Tx,
  { run, agent, payerId: personId }: { readonly run: Run; readonly agent: Agent; readonly payerId: string | null },
  runsPerDay: (handle: string) => number,
  now: number,
): Promise<{ readonly personId: string; readonly text: string } | null> {
  if (!personId) return null;
  const runs = await tx.trees.chargePerson({ treeId: run.treeId, personId, day: dayOf(now) });
  const handle = (await tx.participants.getParticipantById({ id: personId }))?.handle ?? '';
  if (runs !== runsPerDay(handle)) return null;
  const text = `That was the last of your ${runs} runs for today ([people.${handle}] runs_per_day). ${agent.handle} and its team continue your work at 00:00 UTC.`;
  return { personId, text };
}
