import { dayIn } from './local-times.ts';
import { dayOf } from './run.ts';

/** What the configuration says about people, by handle. */
export interface PeopleRules {
  /** The number of runs that the messages of a person other than the owner may start per day. */
  runsPerDay(handle: string): number;
  timeZone(handle: string): string;
}

/** The day of the runs that a schedule pays for. */
export const SCHEDULED = 0;

/** All days that it is somewhere at a time, by their numbers since 1970. */
export function daysAround(now: number): { readonly from: number; readonly to: number } {
  return { from: dayOf(now) - 1, to: dayOf(now) + 1 };
}

/** Of what people used on the days around now, what each used today, in their time zone. */
export function ofToday<T extends { readonly handle: string; readonly day: number }>(
  rows: readonly T[],
  { timeZone }: Pick<PeopleRules, 'timeZone'>,
  now: number,
): T[] {
  return rows.filter(({ handle, day }) => day === dayIn(timeZone(handle), now));
}
