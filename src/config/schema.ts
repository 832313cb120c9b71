import * as z from 'zod';
import type { Path } from './locate.ts';

/** The keys of the table that the schema expects at this path. */
export function knownKeys(schema: z.ZodType, path: Path): string[] {
  const table = schemasAlong(schema, path).at(-1);
  return table instanceof z.ZodObject ? Object.keys(table.shape) : [];
}

/** Whether what stands at this path was marked with `.meta({ secret: true })`, itself or a table around it. */
export function isSecret(schema: z.ZodType, path: Path): boolean {
  return schemasAlong(schema, path).some((step) => z.globalRegistry.get(step)?.secret === true);
}

/** Every schema on the way to a path, wrappers included, the innermost last. */
function schemasAlong(schema: z.core.$ZodType, path: Path): z.core.$ZodType[] {
  const wrapped = innerSchema(schema);
  if (wrapped !== undefined) return [schema, ...schemasAlong(wrapped, path)];
  const [key, ...rest] = path;
  const child = key === undefined ? undefined : childSchema(schema, key);
  return child === undefined ? [schema] : [schema, ...schemasAlong(child, rest)];
}

/** What a schema that only wraps another one wraps. */
export function innerSchema(schema: z.core.$ZodType): z.core.$ZodType | undefined {
  if (schema instanceof z.ZodPipe) return schema.in;
  const wraps = [z.ZodPrefault, z.ZodDefault, z.ZodNullable, z.ZodOptional].find((kind) => schema instanceof kind);
  if (wraps) return (schema as InstanceType<typeof wraps>).unwrap();
  return undefined;
}

function childSchema(schema: z.core.$ZodType, key: PropertyKey): z.core.$ZodType | undefined {
  if (schema instanceof z.ZodRecord) return schema.valueType;
  if (schema instanceof z.ZodArray) return schema.element;
  if (schema instanceof z.ZodObject) {
    return Object.hasOwn(schema.shape, key) ? schema.shape[String(key)] : schema.def.catchall;
  }
  return undefined;
}
