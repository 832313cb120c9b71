import { USER_ID } from '../core/agent.ts';
import { SubstratError } from '../core/errors.ts';
import { daysAround, ofToday } from '../core/people.ts';
import type { MessagingRules } from './rules.ts';
import type { Tx } from './tx.ts';

/**
 * Who pays for the runs that a person's message starts: a schedule, if it sends the message in the owner's name; people other than
 * the owner pay themselves, the owner's count against the tree.
 */
export function payerOf({ id }: { readonly id: string }, scheduled?: Scheduled): string | null {
  if (scheduled) return scheduled.id;
  return id === USER_ID ? null : id;
}

/** The schedule that sends a message, and pays for what it starts. */
export interface Scheduled {
  readonly id: string;
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
  // Its firing has its own allowance.
  if (scheduled) return;
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
