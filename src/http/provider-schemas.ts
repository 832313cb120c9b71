import { z } from '@hono/zod-openapi';
import { time } from './fields.ts';

const prices = z
  .strictObject({ input: z.number(), output: z.number() })
  .openapi({ description: 'In dollars per million tokens.' });

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
    pricing: z
      .strictObject({
        kind: z.enum(['reported', 'configured', 'assumed', 'unknown']),
        every: prices.nullable().openapi({ description: 'For every model; null if only some have a price.' }),
        models: z.record(z.string(), prices),
        assumed: prices.nullable().openapi({ description: 'For a model without a price.' }),
        source: z.string().nullable().openapi({ description: 'Where the configured prices were read.' }),
        asOf: z.string().nullable().openapi({ description: 'The day on which they were read.', example: '2026-11-18' }),
      })
      .openapi({
        description:
          'Where costs come from: the program or service itself, `prices` or `assume_price` of the configuration, or nowhere.',
      }),
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
