import type { Run } from '../core/run.ts';

/**
 * Detects runs that have lost their lease. Clocks of nodes differ and can be set: a lease that looks expired is lost
 * only if it has not been renewed for half its length since we first saw it; one that was not renewed for twice its
 * length is lost regardless of the clocks. Time is measured with a monotonic clock.
 */
export class LeaseWatch {
  readonly #leaseMs: number;
  readonly #monotonic: () => number;
  #seen = new Map<string, { readonly until: number | null; readonly since: number }>();

  constructor({ leaseMs, monotonic }: { readonly leaseMs: number; readonly monotonic: () => number }) {
    this.#leaseMs = leaseMs;
    this.#monotonic = monotonic;
  }

  /** Whether there is a run to check again. */
  watches(): boolean {
    return this.#seen.size > 0;
  }

  /** The runs on other nodes whose lease is lost. */
  look(runs: readonly Run[], now: number): Run[] {
    const at = this.#monotonic();
    const seen = runs.map(({ id, leaseUntil: until }) => {
      const before = this.#seen.get(id);
      return [id, before?.until === until ? before : { until, since: at }] as const;
    });
    this.#seen = new Map(seen);
    return runs.filter(({ id, leaseUntil: until }) => {
      const unrenewed = at - (this.#seen.get(id)?.since ?? at);
      return unrenewed >= (until !== null && until < now ? this.#leaseMs / 2 : this.#leaseMs * 2);
    });
  }
}
