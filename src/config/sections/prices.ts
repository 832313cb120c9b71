import * as z from 'zod';
import { maybe, oneLine } from '../fields.ts';

const price = z.number().min(0, 'must not be negative');
/** The prices of a model. */
export const ofModel = z.strictObject(
  { input: price, output: price },
  {
    error: ({ code }) =>
      code === 'invalid_type'
        ? 'must be a table with "input" and "output", the prices of the model with that name'
        : undefined,
  },
);

type Price = { readonly input: number; readonly output: number };
type Prices = {
  readonly every: Price | null;
  readonly models: Readonly<Record<string, Price>>;
  readonly source: string | null;
  readonly asOf: string | null;
};

const day = z
  .string('must be a date such as "2026-11-18"')
  .refine(
    (text) => /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text)),
    'must be a date such as "2026-11-18"',
  );

/**
 * `input` and `output` apply to every model, `source` and `as_of` say where and when all of them were read; any other key
 * is a model with its own prices. The derived type of such a table does not compile as a declaration, so it is written
 * down.
 */
export const prices: z.ZodType<Prices> = z
  .object({ input: price.optional(), output: price.optional(), source: maybe(oneLine), as_of: maybe(day) })
  .catchall(ofModel)
  .superRefine(({ input, output, source: _, as_of: __, ...models }, context) => {
    if (input === undefined && output === undefined && Object.keys(models).length > 0) return;
    const missing = Object.entries({ input, output }).filter(([, value]) => value === undefined);
    for (const [key] of missing) context.addIssue({ code: 'custom', path: [key], message: 'is missing' });
  })
  .transform(({ input, output, source, as_of: asOf, ...models }) => ({
    every: input === undefined || output === undefined ? null : { input, output },
    source,
    asOf,
    models: models as Record<string, z.output<typeof ofModel>>,
  }));
