/** Every code that leaves the daemon. Its HTTP status and MCP form are decided where it leaves, in one place each. */
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

/** The one error of this project: a code for programs, a sentence for people, the original in `cause`. */
export class SubstratError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'SubstratError';
    this.code = code;
  }
}

/** The error as people, programs and models may see it: other errors than ours only go to the log. */
export function toSubstratError(error: unknown): SubstratError {
  if (error instanceof SubstratError) return error;
  const message = 'Something went wrong inside Substrat; its log has the details.';
  return new SubstratError('internal', message, { cause: error });
}
