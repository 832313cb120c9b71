import type * as z from 'zod';
import { SubstratError } from '../core/errors.ts';
import { describeProblems } from '../tools/tool.ts';

/** Reads a JSON body of a known shape. */
export async function readBody<S extends z.ZodType>(request: Request, schema: S): Promise<z.infer<S>> {
  let body: unknown;
  try {
    body = await request.json();
  } catch {
    throw new SubstratError('bad_request', 'The body must be JSON.');
  }
  return parse(schema, body);
}

export function parse<S extends z.ZodType>(schema: S, value: unknown): z.infer<S> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new SubstratError('bad_request', describeProblems(parsed.error));
}
