import * as z from 'zod';
import { flag, line, maybe, type Place, table, text, wholeNumber } from '../fields.ts';

const price = z.number().min(0, 'must not be negative');

export const providers = ({ resolve }: Place) =>
  z
    .record(
      text.regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/, 'a name has 1 to 64 letters, digits, "_" or "-"'),
      table({
        // A bare name is looked up in PATH.
        command: maybe(text.transform((command) => (command.includes('/') ? resolve(command) : command))),
        args: z.array(line).default([]),
        env: z
          .record(text.regex(/^[^=]+$/, 'this cannot be the name of an environment variable'), line)
          .default({})
          .meta({ secret: true }),
        slots: maybe(wholeNumber(1, 1_000)),
        force: flag(false),
        prices: maybe(z.strictObject({ input: price, output: price })),
      }),
    )
    .prefault({})
    // Without a prototype, so that a provider that nobody configured is undefined whatever its name.
    .transform((entries): typeof entries => Object.assign(Object.create(null), entries))
    .describe(
      'The programs that execute turns, with slots of their own and prices per million tokens where they tell no cost.',
    );
