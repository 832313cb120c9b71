import * as z from 'zod';
import { NAME } from '../../core/agent.ts';
import { readCron } from '../../core/cron.ts';
import { count, table, text } from '../fields.ts';

const cron = text.superRefine((line, context) => {
  try {
    readCron(line);
  } catch (error) {
    context.addIssue((error as Error).message);
  }
});

export const schedules = z
  .record(
    z.string().regex(NAME, 'must be 1 to 64 letters, digits, "_" or "-"'),
    table({
      cron,
      to: text,
      text: text.max(100_000),
      runs: count({ fallback: 20, min: 0, max: 1_000_000 }),
    }),
  )
  .prefault({})
  .transform((entries) =>
    Object.entries(entries).map(([name, { to: target, ...entry }]) => ({ name, target, ...entry })),
  )
  .describe('Messages that are sent at times of the wall clock.');
