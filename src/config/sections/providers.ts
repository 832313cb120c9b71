import * as z from 'zod';
import { type Description, described, type Fields } from '../../providers/described.ts';
import { line, maybe, type PathBase, table, text, wholeNumber } from '../fields.ts';
import { prices } from './prices.ts';

const every = { slots: maybe(wholeNumber(1, 1_000)), prices: maybe(prices) };

type Tables = {
  [About in (typeof described)[number] as About['name']]: ReturnType<typeof tableOf<ReturnType<About['settings']>>>;
};

/** One table per provider, with the keys that its description declares. */
export const providers = ({ resolve }: PathBase) => {
  const fields: Fields = { z, program: programFields(resolve) };
  const tables = Object.fromEntries(
    described.map((about) => [about.name, tableOf<z.ZodRawShape>(about, fields)]),
  ) as Tables;
  return (
    z
      .strictObject(tables)
      .prefault({})
      // No prototype, so that an unconfigured provider is undefined whatever its name.
      .transform((entries): typeof entries => Object.assign(Object.create(null), entries))
      .describe(
        'The programs that execute turns, their own slots, and prices per million tokens for programs that do not report costs.',
      )
  );
};

function tableOf<Shape extends z.ZodRawShape>({ settings }: Description<Shape>, fields: Fields) {
  return table({ ...every, ...settings(fields) }).optional();
}

function programFields(resolve: PathBase['resolve']) {
  return {
    // A bare name is looked up in PATH.
    command: maybe(text.transform((command) => (command.includes('/') ? resolve(command) : command))),
    args: z.array(line).default([]),
    env: z
      .record(text.regex(/^[^=]+$/, 'not a valid name for an environment variable'), line)
      .default({})
      .meta({ secret: true }),
  };
}
