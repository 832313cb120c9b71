import * as z from 'zod';
import { isTooDeep, MAX_DEPTH } from '../core/text.ts';

const PARAMETER_TYPES = ['string', 'number', 'integer', 'boolean', 'array', 'object'] as const;

/** One parameter of a tool written in Lua or in a program's own code. */
export const Parameter = z.strictObject({
  name: z.string().regex(/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/, 'must be 1 to 64 letters, digits, "_" or "-"'),
  type: z.enum(PARAMETER_TYPES).default('string'),
  required: z.boolean().default(false),
  description: z.string().default(''),
  default: z.unknown().optional(),
  enum: z
    .array(z.union([z.string(), z.number()]))
    .min(1)
    .optional(),
});
export type Parameter = z.output<typeof Parameter>;

const SHALLOW = [(value: unknown) => !isTooDeep(value), `must not be nested deeper than ${MAX_DEPTH}`] as const;

const TYPES: Readonly<Record<Parameter['type'], () => z.ZodType>> = {
  string: () => z.string(),
  number: () => z.number(),
  integer: () => z.int(),
  boolean: () => z.boolean(),
  array: () => z.array(z.unknown()).refine(...SHALLOW),
  object: () => z.record(z.string(), z.unknown()).refine(...SHALLOW),
};

/** The schema that validates a tool's arguments; the published schema is derived from it. */
export function inputOf(parameters: readonly Parameter[]): z.ZodObject {
  return z.strictObject(
    Object.fromEntries(
      parameters.map((parameter) => {
        const bare = parameter.enum === undefined ? TYPES[parameter.type]() : oneOf(parameter.enum);
        const described = parameter.description === '' ? bare : bare.describe(parameter.description);
        if (parameter.default !== undefined) return [parameter.name, described.default(parameter.default as never)];
        return [parameter.name, parameter.required ? described : described.optional()];
      }),
    ),
  );
}

function oneOf(values: readonly (string | number)[]): z.ZodType {
  return values.every((value) => typeof value === 'string') ? z.enum(values) : z.literal([...values]);
}
