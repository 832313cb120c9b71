/**
 * Every error code that leaves the daemon. The HTTP status and the MCP form of a code are each decided in one place.
 */
export type ErrorCode =
  | 'agent_error'
  | 'bad_request'
  | 'cap_reached'
  | 'config'
  | 'conflict'
  | 'embeddings_disabled'
  | 'fenced'
  | 'forbidden'
  | 'gone'
  | 'has_children'
  | 'home_in_use'
  | 'internal'
  | 'name_taken'
  | 'node_silent'
  | 'not_configured'
  | 'not_found'
  | 'not_running'
  | 'outcome_unknown'
  | 'precondition_failed'
  | 'rate_limited'
  | 'schema_too_new'
  | 'script_error'
  | 'store'
  | 'terminated'
  | 'timeout'
  | 'too_large'
  | 'tool_error'
  | 'unauthorized'
  | 'unsupported';

/** The project's only error class: a code for programs, a sentence for people, the original error in `cause`. */
export class SubstratError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'SubstratError';
    this.code = code;
  }
}

/** The error as shown to people, programs and models. Errors of other classes are only logged. */
export function toSubstratError(error: unknown): SubstratError {
  if (error instanceof SubstratError) return error;
  const message = "Internal error; the daemon's log has the details.";
  return new SubstratError('internal', message, { cause: error });
}
