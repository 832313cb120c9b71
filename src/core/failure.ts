import { SubstratError } from './errors.ts';

/** Why an attempt of a run ended without a result, classified once for all providers. */
export type FailureKind =
  | 'auth'
  | 'bad_session'
  | 'cancelled'
  | 'context_full'
  | 'crash'
  | 'daemon_died'
  | 'daemon_stopped'
  | 'invalid_request'
  | 'lease_lost'
  | 'overloaded'
  | 'rate_limit'
  | 'resources'
  | 'store'
  | 'timeout';

export interface RetryRule {
  /** Counts towards `max_attempts`. */
  readonly counts: boolean;
  /** How long the agent rests before the next attempt, by the number of failures in a row (first: 0). */
  readonly delayMs: (failures: number) => number;
  /** The person is told when the agent rests for the n-th time in a row, from 0. */
  readonly tellsAt: number;
}

const now: RetryRule = { counts: false, delayMs: () => 0, tellsAt: 0 };
const counted: RetryRule = { counts: true, delayMs: (failures) => Math.min(60_000, 500 * 4 ** failures), tellsAt: 0 };
const resting = (baseMs: number): RetryRule => ({
  counts: false,
  delayMs: (failures) => Math.min(3_600_000, baseMs * 2 ** failures),
  tellsAt: 0,
});
/** The trouble is ours: the agent tries again soon, and the person hears of it only when it lasts. */
const ours: RetryRule = {
  counts: false,
  delayMs: (failures) => Math.min(60_000, 1_000 * 2 ** failures),
  tellsAt: 3,
};

/** What providers say is taken within reason: one that says "at once" for ever must not make a turn spin. */
const SHORTEST_REST_MS = 1_000;
const LONGEST_REST_MS = 7 * 24 * 3_600_000;

/** Until the next attempt: as long as the provider said, where it did, or as the rule says. */
export function delayBefore(rule: RetryRule, failures: number, toldMs: number | undefined): number {
  if (toldMs === undefined || Number.isNaN(toldMs)) return rule.delayMs(failures);
  return Math.round(Math.min(LONGEST_REST_MS, Math.max(SHORTEST_REST_MS, toldMs)));
}

/** Which failures are tried again, when, and which count as attempts. `cancelled` is final and never looked up here. */
export const retryRules: Readonly<Record<Exclude<FailureKind, 'cancelled'>, RetryRule>> = {
  crash: counted,
  timeout: counted,
  invalid_request: counted,
  context_full: counted,
  // Dropped, and the turn begins a new session, which no provider can call unknown (`run-turn.ts`): so this ends.
  bad_session: now,
  daemon_died: now,
  daemon_stopped: now,
  lease_lost: now,
  store: ours,
  resources: ours,
  auth: resting(60_000),
  rate_limit: resting(30_000),
  overloaded: resting(5_000),
};

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

/** Whether an error is the store's, or says that this machine or process has run out of something; null: it is neither. */
export function troubleOf(error: unknown): 'store' | 'resources' | null {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof SubstratError && (cause.code === 'store' || cause.code === 'outcome_unknown')) return 'store';
    const code = String((cause as NodeJS.ErrnoException).code ?? '');
    if (SQLITE_TROUBLE.test(code) || LOST_CONNECTION.has(code)) return 'store';
    if (OUT_OF_RESOURCES.has(code)) return 'resources';
  }
  return null;
}
