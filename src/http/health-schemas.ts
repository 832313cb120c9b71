import { z } from '@hono/zod-openapi';
import { time } from './fields.ts';

export const Findings = z
  .strictObject({
    findings: z.array(
      z.strictObject({
        what: z.string(),
        state: z.enum(['ok', 'warning', 'problem']),
        detail: z.string(),
        mend: z.string().optional().openapi({ description: 'How to fix it.' }),
      }),
    ),
  })
  .openapi('Findings');

export const LogEntry = z
  .strictObject({
    at: time,
    level: z.enum(['info', 'warn', 'error']),
    message: z.string(),
    details: z.record(z.string(), z.string()),
  })
  .openapi('LogEntry');
