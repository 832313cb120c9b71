import { USER_ID } from '../core/agent.ts';
import { SubstratError } from '../core/errors.ts';
import { daysAround, ofToday } from '../core/people.ts';
import type { MessagingRules } from './rules.ts';
import type { Tx } from './tx.ts';

/**
 * Who pays for the runs that a person's message starts: people other than the owner pay themselves, the owner's count
 * against the tree.
 */
export function payerOf({ id }: { readonly id: string }): string | null {
  return id === USER_ID ? null : id;
}

/** A schedule sends it: the trees get an allowance of runs in place of the owner's word. */
export interface Scheduled {
  readonly runs: number;
}

/**
 * A message from the owner resets the tree's run count; one from another person is refused if their runs for today
 * are used up.
 */
export async function countWord(
  tx: Tx,
  rules: MessagingRules,
  from: { readonly id: string; readonly handle: string },
  treeIds: readonly string[],
  now: number,
  scheduled?: Scheduled,
): Promise<void> {
  if (scheduled) {
    for (const treeId of new Set(treeIds)) await tx.trees.grantRuns({ treeId, runs: scheduled.runs });
    return;
  }
  if (payerOf(from) === null) {
    for (const treeId of new Set(treeIds)) await tx.trees.resetTreeRuns({ treeId });
    return;
  }
  if (treeIds.length === 0) return;
  const days = await tx.trees.listPersonRuns(daysAround(now));
  const runs = ofToday(days, rules.people, now).find((one) => one.personId === from.id)?.runs ?? 0;
  const most = rules.people.runsPerDay(from.handle);
  if (runs < most) return;
  throw new SubstratError(
    'cap_reached',
    `You have used your ${most} runs for today, so nothing was sent. The count resets at midnight (${rules.people.timeZone(from.handle)}). The owner can raise \`[people.${from.handle}] runs_per_day\`.`,
  );
}
