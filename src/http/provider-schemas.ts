import { z } from '@hono/zod-openapi';
import { time } from './fields.ts';

export const Provider = z
  .strictObject({
    name: z.string(),
    found: z.boolean().openapi({ description: 'Its program is installed, or it does not need one.' }),
    version: z.string().nullable().openapi({ description: 'Null if it has none, or has not answered yet.' }),
    problem: z.string().nullable().openapi({ description: 'Why it cannot be used, and what to do.' }),
    login: z.enum(['key', 'login', 'none', 'not_needed']).openapi({
      description: "A key in the configuration, or the program's own login. Found out without a call.",
    }),
    accounts: z.array(z.string()),
    isDefault: z.boolean().openapi({ description: 'It is `[daemon] default_provider`.' }),
    limits: z
      .array(
        z.strictObject({
          account: z.string().nullable(),
          agent: z.string().nullable().openapi({ description: 'Null if it holds for all agents of the account.' }),
          until: time,
          reason: z.string(),
          grade: z.enum(['metered', 'reported']),
        }),
      )
      .openapi({ description: 'Limits that are used up, and when they end.' }),
  })
  .openapi('Provider');
