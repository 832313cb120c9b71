import { REMINDER } from '../core/reminder.ts';
import { SCHEDULE } from '../core/schedule.ts';
import { fireReminder, rearmReminders } from '../messaging/reminders.ts';
import type { MessagingRules } from '../messaging/rules.ts';
import { fireSchedule, rearmSchedules } from '../messaging/schedules.ts';
import type { FireTimer } from '../runs/due-timers.ts';
import type { Tx } from '../runs/tx.ts';

/** The clock was set back by `by`: what repeats continues. */
export async function rearmTimers(tx: Tx, by: number, now: number): Promise<void> {
  await rearmReminders(tx, by, now);
  await rearmSchedules(tx, now);
}

/** The function that fires for each kind of timer. */
export function timersOf(rules: MessagingRules): ReadonlyMap<string, FireTimer> {
  return new Map<string, FireTimer>([
    [REMINDER, fireReminder],
    [SCHEDULE, fireSchedule(rules)],
  ]);
}
