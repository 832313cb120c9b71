import * as z from 'zod';
import { renameOld } from './aliases.ts';
import { type LoadOptions, loadConfig, openConfig, sections } from './config.ts';
import { type Located, locate, type Path } from './locate.ts';
import { parseSource } from './read.ts';
import { innerSchema, isSecret } from './schema.ts';

export interface Setting {
  /** As in the file: `chunking.max_tokens`. */
  readonly key: string;
  readonly value: unknown;
  /** `ctx.toml:5` with the environment variables it uses, or `default`. */
  readonly origin: string;
}

/** Every effective setting and its origin. Secrets are hidden; variables are shown by name only. */
export function explainConfig(options: LoadOptions): { file: string | null; settings: Setting[] } {
  const { file, name, source, place } = openConfig(options);
  const config = loadConfig({ ...options, file: file ?? undefined });
  const { document, written: asWritten } = renameOld(parseSource(source, name));
  const schema = z.strictObject(sections(place));
  const settings: Setting[] = [];
  const located = locate(source);
  const find = (path: Path) => located(asWritten(path));

  const visit = (at: z.core.$ZodType, written: unknown, path: readonly string[]): void => {
    // An optional table that is absent has no settings.
    if (at instanceof z.ZodOptional && written === undefined) return;
    const { inner, fallback } = unwrap(at);
    const given = isTable(written) ? written : null;
    const keys = keysOf(inner, given);
    if (keys === null) {
      const key = path.join('.');
      settings.push(
        written === undefined
          ? { key, value: fallback ?? inForce(config, path), origin: 'default' }
          : { key, ...shown(written, path, schema, find(path), name) },
      );
      return;
    }
    for (const [key, child] of keys) {
      if (child) visit(child, given?.[key], [...path, key]);
      else
        settings.push({
          key: [...path, key].join('.'),
          ...shown(given?.[key], [...path, key], schema, find([...path, key]), name),
        });
    }
  };
  visit(schema, document, []);
  return { file: config.file, settings };
}

/** The keys of a table with their schemas (null for a free key); null if the schema is not a table. */
function keysOf(schema: z.core.$ZodType, given: Table | null): [string, z.core.$ZodType | null][] | null {
  if (schema instanceof z.ZodRecord) {
    return Object.keys(given ?? {}).map((key) => [key, schema.valueType]);
  }
  if (!(schema instanceof z.ZodObject)) return null;
  const free =
    schema.def.catchall instanceof z.ZodNever ? [] : Object.keys(given ?? {}).filter((key) => !(key in schema.shape));
  return [
    ...Object.entries(schema.shape as Record<string, z.core.$ZodType>),
    ...free.map((key): [string, null] => [key, null]),
  ];
}

function shown(written: unknown, path: Path, schema: z.ZodType, { line }: Located, file: string) {
  const variables = [
    ...new Set(
      JSON.stringify(written)
        .matchAll(/(?<!\$)\$\{([A-Za-z_]\w*)/g)
        .map(([, name]) => `$${name}`),
    ),
  ];
  const origin = [`${file}:${line}`, ...variables].join(', ');
  if (isSecret(schema, path)) return { value: '(secret)', origin };
  return { value: typeof written === 'string' ? written.replace(/:\/\/[^/]*@/g, '://…@') : written, origin };
}

/** The innermost schema, and the default of the first wrapper that has one. */
function unwrap(schema: z.core.$ZodType): { inner: z.core.$ZodType; fallback: unknown } {
  let inner = schema;
  let fallback: unknown;
  for (let next: z.core.$ZodType | undefined = schema; next; next = innerSchema(next)) {
    inner = next;
    if (next instanceof z.ZodDefault || next instanceof z.ZodPrefault) fallback ??= next.def.defaultValue;
  }
  return { inner, fallback };
}

/** The effective value of a setting without its own default: some derive from the home. */
function inForce(config: unknown, path: readonly string[]): unknown {
  const keys = path.map((key) => key.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase()));
  const value = keys.reduce<unknown>((at, key) => (isTable(at) ? at[key] : undefined), config);
  return value ?? null;
}

type Table = Readonly<Record<string, unknown>>;

function isTable(value: unknown): value is Table {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
}
