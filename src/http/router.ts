import { createRoute, OpenAPIHono, type RouteConfig, type z } from '@hono/zod-openapi';
import { SubstratError } from '../core/errors.ts';
import { describeProblems } from '../core/validation.ts';
import type { Env } from './access.ts';
import { ErrorBody } from './schemas.ts';

export type Router = OpenAPIHono<Env>;

/** A router whose routes are validated and documented by one definition. Invalid requests get our error format. */
export function createRouter(): Router {
  return new OpenAPIHono<Env>({
    defaultHook: (result) => {
      if (result.success) return;
      throw new SubstratError('bad_request', `${describeProblems(result.error)}.`);
    },
  });
}

type Errors = Partial<Record<400 | 403 | 404 | 408 | 409 | 410 | 412 | 413 | 422, string>>;

/** A route with its response and its specific errors, in addition to the common ones. */
export function describe<const R extends Omit<RouteConfig, 'responses'>, S extends z.ZodType, N extends 200 | 201>(
  route: R,
  answer: { readonly status: N; readonly description: string; readonly schema: S },
  errors: Errors = {},
) {
  const { status, description, schema } = answer;
  return createRoute({
    ...route,
    responses: {
      [status]: { description, content: { 'application/json': { schema } } },
      ...errorResponses(route.request?.body ? { 413: 'The body is too large.', ...errors } : errors),
    } as Record<N, { description: string; content: { 'application/json': { schema: S } } }>,
  });
}

/** Errors of every route: missing token (on TCP), malformed request, internal error, full disk. */
export function errorResponses(errors: Errors) {
  const all = {
    400: 'The request is not valid.',
    401: 'On TCP: the token is missing, unknown or revoked.',
    403: 'Not allowed for this caller, `Host` or `Origin`.',
    ...errors,
    500: "Internal error; the daemon's log has the details.",
    503: 'The store is unavailable, for example because the disk is full.',
  };
  const body = { content: { 'application/json': { schema: ErrorBody } } };
  return Object.fromEntries(Object.entries(all).map(([status, description]) => [status, { description, ...body }]));
}
