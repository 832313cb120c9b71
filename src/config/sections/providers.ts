import * as z from 'zod';
import { EXTERNAL } from '../../core/provider-names.ts';
import {
  ACP_PRESETS,
  acpSettings,
  acpStart,
  type Description,
  described,
  type Fields,
} from '../../providers/described.ts';
import { maybeDuration } from '../duration.ts';
import { line, maybe, type PathBase, table, text, wholeNumber } from '../fields.ts';
import { ofModel, prices } from './prices.ts';

const NAME = /^[a-z0-9][a-z0-9-]{0,40}$/i;
const ACCOUNT = /^[A-Za-z0-9][A-Za-z0-9_-]{0,40}$/;
const patience = maybeDuration({ min: '1s', max: '7d' });
const every = {
  slots: maybe(wholeNumber(1, 1_000)),
  prices: maybe(prices),
  assume_price: maybe(ofModel),
  quiet_after: patience,
  stalled_after: patience,
};

type Tables = {
  [About in (typeof described)[number] as About['name']]: ReturnType<typeof tableOf<ReturnType<About['settings']>>>;
};

/** The settings of a provider with `kind = "acp"`. */
export type AcpTable = z.output<ReturnType<typeof acpTable>>;

type Settings = z.output<z.ZodObject<Tables, z.core.$strict>>;

/**
 * One table per provider, with the keys that its description declares, and others with `kind = "acp"`. The derived type
 * of a table with known and free keys does not compile as a declaration, so it is written down.
 */
export const providers = ({ resolve }: PathBase): z.ZodType<Settings> => {
  const fields: Fields = { z, program: programFields(resolve) };
  const tables = Object.fromEntries(
    described.map((about) => [about.name, tableOf<z.ZodRawShape>(about, fields)]),
  ) as Tables;
  const strangers = z.check(reportStrangers);
  // Also after other problems.
  strangers._zod.def.when = () => true;
  return (
    z
      .object(tables)
      .catchall(acpTable(fields))
      .check(strangers)
      .superRefine(checkAcp)
      .prefault({})
      // No prototype, so that an unconfigured provider is undefined whatever its name.
      .transform((entries) => Object.assign(Object.create(null), entries) as Settings)
      .describe(
        'The programs that execute turns, their own slots, and prices per million tokens for programs that do not report costs. `assume_price` is used where no price is known.',
      )
  );
};

/** The providers with `kind = "acp"`, by name. */
export function acpProviders(providers: object): [string, AcpTable][] {
  const names = described.map(({ name }) => name as string);
  return Object.entries(providers).filter(([name]) => !names.includes(name));
}
/** A table without `kind` is a misspelled name, not a table with a missing key. */
function reportStrangers(parsed: z.core.ParsePayload<Record<string, unknown>>): void {
  const strange = ({ path, code, input }: z.core.$ZodRawIssue) =>
    (path?.length === 1 && code === 'invalid_type') || (path?.[1] === 'kind' && input === undefined);
  const names = described.map(({ name }) => name as PropertyKey);
  const keys = new Set(parsed.issues.filter(strange).flatMap(({ path }) => path?.slice(0, 1) ?? []));
  for (const name of names) keys.delete(name);
  if (keys.size === 0) return;
  const others = parsed.issues.filter(({ path }) => !keys.has(path?.[0] ?? ''));
  const unknown = [...keys].map(String);
  parsed.issues = [...others, { code: 'unrecognized_keys', keys: unknown, input: parsed.value }];
}

function checkAcp(parsed: object, context: z.RefinementCtx): void {
  for (const [name, settings] of acpProviders(parsed)) {
    if (name === EXTERNAL || !NAME.test(name)) {
      const message = 'cannot be the name of a provider; use letters, digits and "-"';
      context.addIssue({ code: 'custom', path: [name], message });
    } else if (acpStart(name, settings) === null) {
      const message = `is missing (known without it: ${ACP_PRESETS.join(', ')})`;
      context.addIssue({ code: 'custom', path: [name, 'command'], message });
    }
  }
}

function tableOf<Shape extends z.ZodRawShape>({ settings }: Description<Shape>, fields: Fields) {
  return table({ ...every, ...settings(fields) }).optional();
}

function programFields(resolve: PathBase['resolve']) {
  const env = z
    .record(text.regex(/^[^=]+$/, 'not a valid name for an environment variable'), line)
    .default({})
    .meta({ secret: true });
  return {
    // A bare name is looked up in PATH.
    command: maybe(text.transform((command) => (command.includes('/') ? resolve(command) : command))),
    args: z.array(line).default([]),
    env,
    // Several logins of one program. Each adds its variables to those of the table.
    accounts: z.record(z.string().regex(ACCOUNT, 'must be letters, digits, "-" or "_"'), table({ env })).default({}),
  };
}

function acpTable(fields: Fields) {
  return table({ ...every, ...acpSettings(fields) });
}
