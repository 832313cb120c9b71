import { nextTime, readCron } from './cron.ts';
import type { MessageId, NodeId } from './ids.ts';

/** The kind of a schedule's timer; the timer's key is the id of the schedule. */
export const SCHEDULE = 'schedule';

/** What is sent at times of the wall clock. */
export interface Schedule {
  readonly id: string;
  readonly name: string;
  readonly nameKey: string;
  readonly cron: string;
  readonly timeZone: string;
  /** The handle of an agent, or `#` and a channel. */
  readonly target: string;
  readonly text: string;
  /** How many runs a firing pays for. */
  readonly runs: number;
  /** The owner knows that agents wait for its next firing. */
  readonly toldSpent: boolean;
  /** The node whose configuration has it; null: a person added it. */
  readonly nodeId: NodeId | null;
  /** What it sent last. */
  readonly messageId: MessageId | null;
  /** The time that it last fired for, and when that was. */
  readonly lastDue: number | null;
  readonly lastAt: number | null;
  /** Why its last firing sent nothing. */
  readonly error: string | null;
  readonly createdAt: number;
}

/** When it fires next: never twice for the same time, even if the clock is set back. */
export function nextDue(
  { cron, timeZone, lastDue }: Pick<Schedule, 'cron' | 'timeZone' | 'lastDue'>,
  now: number,
): number | null {
  return nextTime(readCron(cron), timeZone, Math.max(now, lastDue ?? now));
}
