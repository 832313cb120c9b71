import * as z from 'zod';

type Json = Record<string, unknown>;

export interface Operation {
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly { name: string; in: string; required?: boolean; schema: Json }[];
  readonly body: Json | null;
  readonly statuses: readonly string[];
  /** What is wrong with a response of that status; null if it is as documented. */
  fault(status: number, body: unknown): string | null;
}

/** Every operation of an OpenAPI document, with compiled schemas. */
export function readOperations(document: Json): Operation[] {
  const paths = document.paths as Record<string, Record<string, Json>>;
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => toOperation(document, path, method, operation)),
  );
}

function toOperation(document: Json, path: string, method: string, operation: Json): Operation {
  const responses = operation.responses as Record<string, { content?: Record<string, { schema: Json }> }>;
  const body = operation.requestBody as { content: Record<string, { schema: Json }> } | undefined;
  const checks = new Map<string, z.ZodType>();
  for (const [status, { content }] of Object.entries(responses)) {
    const schema = content?.['application/json']?.schema;
    if (schema) checks.set(status, z.fromJSONSchema(resolve(document, schema) as never));
  }
  return {
    method: method.toUpperCase(),
    path,
    parameters: (operation.parameters ?? []) as Operation['parameters'],
    body: body ? (resolve(document, body.content['application/json']?.schema ?? {}) as Json) : null,
    statuses: Object.keys(responses),
    fault: (status, value) => {
      if (!(String(status) in responses)) return `status ${status} is not described`;
      const parsed = checks.get(String(status))?.safeParse(value);
      return parsed && !parsed.success ? z.prettifyError(parsed.error) : null;
    },
  };
}

/** A named schema of the document, compiled. */
export function schemaOf(document: Json, name: string): { fault(value: unknown): string | null } {
  const schema = (document.components as { schemas: Record<string, Json> }).schemas[name];
  if (!schema) return { fault: () => `there is no schema ${name}` };
  const check = z.fromJSONSchema(resolve(document, schema) as never);
  return {
    fault: (value) => {
      const parsed = check.safeParse(value);
      return parsed.success ? null : z.prettifyError(parsed.error);
    },
  };
}

/** The schema with every reference resolved. */
function resolve(document: Json, schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map((one) => resolve(document, one));
  if (schema === null || typeof schema !== 'object') return schema;
  const { $ref } = schema as { $ref?: string };
  if ($ref) {
    const target = $ref
      .slice(2)
      .split('/')
      .reduce<unknown>((at, key) => (at as Json)[key], document);
    return resolve(document, target);
  }
  return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, resolve(document, value)]));
}
