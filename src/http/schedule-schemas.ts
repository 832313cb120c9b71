import { z } from '@hono/zod-openapi';
import { label, text, time } from './fields.ts';

export const Schedule = z
  .strictObject({
    name: z.string(),
    cron: z.string(),
    timeZone: z.string(),
    to: z.string().openapi({ description: 'The handle of an agent, or `#` and a channel.' }),
    text: z.string(),
    runs: z.int().openapi({ description: 'How many runs each firing pays for.' }),
    usedRuns: z.int().openapi({ description: 'How many of them the last firing has used.' }),
    origin: z.enum(['configuration', 'person']),
    next: time.nullable(),
    last: time.nullable().openapi({ description: 'When it last fired.' }),
    messageId: z.string().nullable().openapi({ description: 'What it sent last.' }),
    error: z.string().nullable().openapi({ description: 'Why its last firing sent nothing.' }),
  })
  .openapi('Schedule');
export const ScheduleCreation = z
  .strictObject({
    name: label.openapi({ example: 'nightly' }),
    cron: z.string().max(200).openapi({ example: '0 8 * * mon-fri' }),
    to: z.string().min(1).max(1000).openapi({ description: 'REF of an agent, or `#` and a channel.' }),
    text: text.max(100_000),
    runs: z.int().min(0).max(1_000_000).default(20),
    timeZone: z.string().min(1).max(100).optional().openapi({ description: "Default: the daemon's." }),
  })
  .openapi('ScheduleCreation');
export const ScheduleRemoved = z
  .strictObject({ status: z.literal('removed'), name: z.string() })
  .openapi('ScheduleRemoved');
