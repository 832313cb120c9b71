import * as z from 'zod';

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
type Prices = { readonly every: Price | null; readonly models: Readonly<Record<string, Price>> };

/**
 * `input` and `output` apply to every model; any other key is a model with its own prices. The derived type of such a
 * table does not compile as a declaration, so it is written down.
 */
export const prices: z.ZodType<Prices> = z
  .object({ input: price.optional(), output: price.optional() })
  .catchall(ofModel)
  .superRefine(({ input, output, ...models }, context) => {
    if (input === undefined && output === undefined && Object.keys(models).length > 0) return;
    const missing = Object.entries({ input, output }).filter(([, value]) => value === undefined);
    for (const [key] of missing) context.addIssue({ code: 'custom', path: [key], message: 'is missing' });
  })
  .transform(({ input, output, ...models }) => ({
    every: input === undefined || output === undefined ? null : { input, output },
    models: models as Record<string, z.output<typeof ofModel>>,
  }));
