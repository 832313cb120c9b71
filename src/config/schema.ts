import * as z from 'zod';
import type { Path } from './locate.ts';

/** The keys of the table that the schema expects at this path. */
export function knownKeys(schema: z.ZodType, path: Path): string[] {
  const table = schemasAlong(schema, path).at(-1);
  return table instanceof z.ZodObject ? Object.keys(table.shape) : [];
}

/** Whether the value at this path, or a table around it, is marked with `.meta({ secret: true })`. */
export function isSecret(schema: z.ZodType, path: Path): boolean {
  return schemasAlong(schema, path).some((step) => z.globalRegistry.get(step)?.secret === true);
}

/** Every schema along a path, including wrappers, innermost last. */
function schemasAlong(schema: z.core.$ZodType, path: Path): z.core.$ZodType[] {
  const wrapped = innerSchema(schema);
  if (wrapped !== undefined) return [schema, ...schemasAlong(wrapped, path)];
  const [key, ...rest] = path;
  const child = key === undefined ? undefined : childSchema(schema, key);
  return child === undefined ? [schema] : [schema, ...schemasAlong(child, rest)];
}

/** The schema inside a wrapper. */
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
