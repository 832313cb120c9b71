/** Why an attempt of a run ended without a result, classified once for all providers. */
export type FailureKind =
  | 'auth'
  | 'bad_session'
  | 'cancelled'
  | 'context_full'
  | 'crash'
  | 'daemon_died'
  | 'invalid_request'
  | 'lease_lost'
  | 'overloaded'
  | 'rate_limit'
  | 'timeout';

export interface RetryRule {
  /** Counts towards `max_attempts`. */
  readonly counts: boolean;
  /** How long the agent rests before the next attempt, by the number of failures in a row (first: 0). */
  readonly delayMs: (failures: number) => number;
}

const now: RetryRule = { counts: false, delayMs: () => 0 };
const counted: RetryRule = { counts: true, delayMs: (failures) => Math.min(60_000, 500 * 4 ** failures) };
const resting = (baseMs: number): RetryRule => ({
  counts: false,
  delayMs: (failures) => Math.min(3_600_000, baseMs * 2 ** failures),
});

/** Which failures are tried again, when, and which count as attempts. `cancelled` is final and never looked up here. */
export const retryRules: Readonly<Record<Exclude<FailureKind, 'cancelled'>, RetryRule>> = {
  crash: counted,
  timeout: counted,
  invalid_request: counted,
  context_full: counted,
  bad_session: now,
  daemon_died: now,
  lease_lost: now,
  auth: resting(60_000),
  rate_limit: resting(30_000),
  overloaded: resting(5_000),
};
