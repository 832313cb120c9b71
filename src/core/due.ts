/**
 * A kind of thing that time alone brings. The scheduler arms one timer for the earliest of all kinds. If anything is due, all kinds
 * fire, in the order of their list, in one transaction. `Tx` is a transaction of the store.
 */
export interface Due<Tx> {
  /** When time brings the next one; null if nothing waits for a time. */
  next(tx: Tx, now: number): Promise<number | null>;
  /** Whether something is due, for a kind that `next` does not decide it for. */
  isDue?(tx: Tx, now: number): Promise<boolean>;
  /**
   * Does what is due, if anything is, and returns whether there may be more. It fails only if the store does: what it throws keeps
   * every other kind from firing. A kind without it only wakes the scheduler.
   */
  fire?(tx: Tx, now: number): Promise<boolean>;
}
