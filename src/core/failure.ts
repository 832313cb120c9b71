import { SubstratError } from './errors.ts';

/** Why an attempt ended without a result. The same classes apply to all providers. */
export type FailureKind =
  | 'auth'
  | 'bad_session'
  | 'budget'
  | 'cancelled'
  | 'context_full'
  | 'crash'
  | 'daemon_died'
  | 'daemon_stopped'
  | 'interrupted'
  | 'handover'
  | 'invalid_request'
  | 'lease_lost'
  | 'limit'
  | 'overloaded'
  | 'rate_limit'
  | 'resources'
  | 'store'
  | 'timeout';

export interface RetryRule {
  /** Counts towards `max_attempts`. */
  readonly counts: boolean;
  /** How long the agent rests before the next attempt, given the number of consecutive failures (first: 0). */
  readonly delayMs: (failures: number) => number;
  /** The person is notified at the n-th consecutive rest, from 0. */
  readonly tellsAt: number;
}

const now: RetryRule = { counts: false, delayMs: () => 0, tellsAt: 0 };
const counted: RetryRule = { counts: true, delayMs: (failures) => Math.min(60_000, 500 * 4 ** failures), tellsAt: 0 };
const resting = (baseMs: number): RetryRule => ({
  counts: false,
  delayMs: (failures) => Math.min(3_600_000, baseMs * 2 ** failures),
  tellsAt: 0,
});
/** The fault is Substrat's: the agent retries soon, and the person is only notified if it persists. */
const ours: RetryRule = {
  counts: false,
  delayMs: (failures) => Math.min(60_000, 1_000 * 2 ** failures),
  tellsAt: 3,
};

/** Bounds for the delay a provider asks for: one that always says "retry now" must not make a turn spin. */
const SHORTEST_REST_MS = 1_000;
const LONGEST_REST_MS = 7 * 24 * 3_600_000;

/** The delay before the next attempt: the provider's, if it gave one, otherwise the rule's. */
export function delayBefore(rule: RetryRule, failures: number, toldMs: number | undefined): number {
  if (toldMs === undefined || Number.isNaN(toldMs)) return rule.delayMs(failures);
  return Math.round(Math.min(LONGEST_REST_MS, Math.max(SHORTEST_REST_MS, toldMs)));
}

/** Which failures are retried, when, and which count as attempts. `cancelled` is final and never looked up here. */
export const retryRules: Readonly<Record<Exclude<FailureKind, 'cancelled'>, RetryRule>> = {
  crash: counted,
  timeout: counted,
  invalid_request: counted,
  context_full: counted,
  // Of the machine: its memory, processes or disk.
  limit: counted,
  // The session is dropped and the turn starts a new one (`run-turn.ts`), which no provider can call unknown: this
  // cannot loop.
  bad_session: now,
  daemon_died: now,
  daemon_stopped: now,
  // By a person, who paused or changed the agent.
  interrupted: now,
  // The run waits for a budget.
  budget: now,
  // Another account or provider goes on with the run.
  handover: now,
  lease_lost: now,
  store: ours,
  resources: ours,
  auth: resting(60_000),
  rate_limit: resting(30_000),
  overloaded: resting(5_000),
};

/** A limit with a longer wait is an exhausted one: retrying within a turn does not help. */
const EXHAUSTED_MS = 10 * 60_000;
/** How long an exhausted limit holds if nobody said when it ends. */
export const UNTOLD_LIMIT_MS = 3_600_000;

/** Tells an exhausted quota from a rate limit that passes by itself within minutes. */
export function isExhausted(failure: {
  readonly kind: FailureKind;
  readonly exhausted?: boolean;
  readonly retryAfterMs?: number;
}): boolean {
  const { kind, exhausted = false, retryAfterMs } = failure;
  return kind === 'rate_limit' && (retryAfterMs === undefined ? exhausted : retryAfterMs >= EXHAUSTED_MS);
}

const OUT_OF_RESOURCES = new Set([
  'EAGAIN',
  'EDQUOT',
  'EMFILE',
  'ENFILE',
  'ENOBUFS',
  'ENOMEM',
  'ENOSPC',
  'EIO',
  'EROFS',
]);
const SQLITE_TROUBLE = /^SQLITE_(BUSY|CANTOPEN|CORRUPT|FULL|IOERR|LOCKED|NOMEM|NOTADB|READONLY)/;
const LOST_CONNECTION = new Set(['ECONNREFUSED', 'ECONNRESET', 'EHOSTUNREACH', 'ENETUNREACH', 'EPIPE', 'ETIMEDOUT']);

/** Whether an error comes from the store, or from a machine or process that ran out of a resource; otherwise null. */
export function troubleOf(error: unknown): 'store' | 'resources' | null {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof SubstratError && (cause.code === 'store' || cause.code === 'outcome_unknown')) return 'store';
    const code = String((cause as NodeJS.ErrnoException).code ?? '');
    if (SQLITE_TROUBLE.test(code) || LOST_CONNECTION.has(code)) return 'store';
    if (OUT_OF_RESOURCES.has(code)) return 'resources';
  }
  return null;
}
