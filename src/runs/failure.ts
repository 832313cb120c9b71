import type { FailureKind } from '../core/failure.ts';
import type { Exhausted } from './budgets.ts';

/** How an attempt ended without a result. */
export interface Failure {
  readonly kind: Exclude<FailureKind, 'cancelled'>;
  readonly message: string;
  readonly retryAfterMs?: number;
  /** See `ProviderEvent`. */
  readonly exhausted?: boolean;
  readonly metered?: boolean;
  /** For `budget`. */
  readonly exhausts?: Exhausted;
}
