import * as z from 'zod';
import { asLine } from '../core/line.ts';
import { checkTimeZone } from '../core/local-times.ts';

/** What relative paths are resolved against, and where defaults are stored. */
export interface PathBase {
  readonly home: string;
  readonly resolve: (path: string) => string;
}

/** A string without NUL, which programs and file systems reject; may be empty. */
export const line = z.string().refine((text) => !text.includes('\0'), 'must not contain a NUL character');

/** Text that is shown to people or agents as one line. */
export const oneLine = z.string().superRefine(asLine);

export const text = line.min(1, 'must not be empty');

export const timeZone = text.superRefine((name, context) => {
  try {
    checkTimeZone(name);
  } catch (error) {
    context.addIssue((error as Error).message);
  }
});

export const flag = (fallback: boolean) => z.boolean().default(fallback);

export function count({ fallback, min, max }: { fallback: number; min: number; max: number }) {
  return wholeNumber(min, max).default(fallback);
}

export function wholeNumber(min: number, max: number) {
  const error = `must be a whole number from ${min} to ${max}`;
  return z.int({ error }).min(min, error).max(max, error);
}

/** An optional key, null if omitted. */
export function maybe<Schema extends z.ZodType>(schema: Schema) {
  return schema.nullable().default(null as never);
}

/** A TOML table that accepts only known keys and returns them in camelCase. */
export function table<Shape extends z.ZodRawShape>(shape: Shape) {
  type Keys = CamelKeys<z.output<z.ZodObject<Shape, z.core.$strict>>>;
  return z
    .strictObject(shape)
    .transform(
      (value) => Object.fromEntries(Object.entries(value).map(([key, item]) => [camelCase(key), item])) as Keys,
    );
}

type CamelKeys<T> = { [Key in keyof T as Key extends string ? CamelCase<Key> : Key]: T[Key] };
type CamelCase<Key extends string> = Key extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Key;

function camelCase(key: string): string {
  return key.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}
