import type { Agent } from '../core/agent.ts';
import { dayIn } from '../core/local-times.ts';
import { daysAround, ofToday, type PeopleRules, SCHEDULED } from '../core/people.ts';
import type { Run } from '../core/run.ts';
import type { DeliveryView, PersonRuns } from '../store/store.ts';
import type { Tx } from './tx.ts';

/** Who has runs left when a run is claimed. */
export interface Purse {
  readonly maxTreeRuns: number;
  /** People and schedules whose runs are used up. */
  readonly spent: readonly string[];
}

/** People whose runs for today are used up, and schedules whose runs are used up until they fire again. */
export async function spentPeople(tx: Tx, people: PeopleRules, now: number): Promise<PersonRuns[]> {
  const all = await tx.trees.listPersonRuns(daysAround(now));
  const today = ofToday(
    all.filter(({ most }) => most === null),
    people,
    now,
  );
  return [
    ...today.filter(({ runs, handle }) => runs >= people.runsPerDay(handle)),
    ...all.filter(({ runs, most }) => most !== null && runs >= most),
  ];
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
 * Charges a started run to the person or schedule whose message started its chain. Returns a notice for them if it was their last
 * one.
 */
export async function chargeRun(
  tx: Tx,
  { run, agent, payerId: personId }: { readonly run: Run; readonly agent: Agent; readonly payerId: string | null },
  { runsPerDay, timeZone }: PeopleRules,
  now: number,
): Promise<{ readonly personId: string; readonly text: string } | null> {
  if (!personId) return null;
  const payer = await tx.participants.getParticipantById({ id: personId });
  if (payer?.kind === 'system') {
    await tx.trees.chargePerson({ treeId: run.treeId, personId, day: SCHEDULED });
    return null;
  }
  const handle = payer?.handle ?? '';
  const day = dayIn(timeZone(handle), now);
  const runs = await tx.trees.chargePerson({ treeId: run.treeId, personId, day });
  if (runs !== runsPerDay(handle)) return null;
  const text = `That was the last of your ${runs} runs for today ([people.${handle}] runs_per_day). ${agent.handle} and its team continue your work at midnight (${timeZone(handle)}).`;
  return { personId, text };
}
