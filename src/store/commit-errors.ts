import { SubstratError } from '../core/errors.ts';

export function storeError(error: unknown): SubstratError {
  if (error instanceof SubstratError) return error;
  if (isDiskFull(error)) {
    const message = "The store's disk is full; nothing was changed. Free some space and try again.";
    return new SubstratError('store', message, { cause: error });
  }
  const message = `The store could not write; nothing was changed: ${(error as Error).message}`;
  return new SubstratError('store', message, { cause: error });
}

export function unknownOutcome(cause: unknown): SubstratError {
  const message =
    'The connection to the store was lost during a commit, and its outcome is unknown. Check whether the change took effect before you try again.';
  return new SubstratError('outcome_unknown', message, { cause });
}

/** The errors of SQLite and PostgreSQL. */
export function isDiskFull(error: unknown): boolean {
  const { code } = error as { code?: string };
  return code === 'SQLITE_FULL' || code === 'SQLITE_IOERR_SHMSIZE' || code === '53100';
}
