import { SubstratError } from '../core/errors.ts';

/**
 * SQLSTATE classes and codes about the server's condition rather than a wrong statement: connections (08), resources
 * such as disk and memory (53), interventions (57), the operating system (58), and a server that has become
 * read-only.
 */
const CONDITION = /^(08|53|57|58)...$|^25006$|^25P03$/;
const LOCKED = '55P03';
const DISK_FULL = '53100';
/** Cancelled, serialization failure, deadlock. */
const GIVEN_UP = ['57014', '40001', '40P01'];

/** Whether the same statement can succeed later unchanged. */
export function isUnavailable(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && (CONDITION.test(code) || code === LOCKED || GIVEN_UP.includes(code));
}

/** The error for callers; it says what to do. */
export function unavailable(error: Error): SubstratError {
  if (error instanceof SubstratError) return error;
  const { code } = error as { code?: string };
  return new SubstratError('store', sentence(code, error.message || code || 'unknown'), { cause: error });
}

function sentence(code: string | undefined, reason: string): string {
  if (code === LOCKED)
    return 'Another session has held the lock of the store for too long; nothing was changed. Try again.';
  if (code === DISK_FULL) return "The store's disk is full; nothing was changed. Free some space and try again.";
  if (code && GIVEN_UP.includes(code)) return `PostgreSQL cancelled a statement: ${reason}. Try again.`;
  return `PostgreSQL cannot be reached: ${reason}. Substrat reconnects by itself; try again.`;
}

/** Why a store cannot be opened. */
export function openError(error: unknown): SubstratError {
  const cause = error instanceof SubstratError && error.code === 'store' ? (error.cause ?? error) : error;
  if (cause instanceof SubstratError) return cause;
  const reason = (cause as Error).message || (cause as { code?: string }).code;
  const message = `PostgreSQL cannot be opened: ${reason}. Check [db] url and that the server is running.`;
  return new SubstratError('store', message, { cause });
}
