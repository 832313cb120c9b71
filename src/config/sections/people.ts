import * as z from 'zod';
import { maybe, table, timeZone, wholeNumber } from '../fields.ts';
import { budget } from './budget.ts';

export const people = z
  .record(
    z.string(),
    table({
      runs_per_day: maybe(wholeNumber(0, 1_000_000_000)),
      time_zone: maybe(timeZone),
      budget: maybe(budget),
    }),
  )
  .prefault({})
  .describe(
    'People other than the owner, by handle. `runs_per_day`: how many turns their messages may start per day. Default: `limits.max_tree_runs`. `time_zone`: when their day begins. Default: `daemon.time_zone`. `budget`: limits on what their messages start; `[people.user]` is the owner.',
  );
