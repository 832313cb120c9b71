import { REMINDER } from '../core/reminder.ts';
import { fireReminder } from '../messaging/reminders.ts';
import type { FireTimer } from '../runs/due-timers.ts';

/** The function that fires for each kind of timer. */
export const timers: ReadonlyMap<string, FireTimer> = new Map([[REMINDER, fireReminder]]);
