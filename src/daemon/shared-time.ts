import type { Store } from '../store/store.ts';
import type { Log } from './log.ts';

/** A node whose clock differs by more says so. */
const MOST_OFF_MS = 5_000;

/**
 * The time that all nodes of a store agree on: the database's, whatever the clock of this machine says. Between two
 * looks at it, the monotonic clock continues it.
 */
export class SharedTime {
  readonly #store: Pick<Store, 'read'>;
  readonly #log: Pick<Log, 'warn'>;
  #base = { time: Date.now(), at: performance.now() };
  #told = false;

  constructor({ store, log }: { readonly store: Pick<Store, 'read'>; readonly log: Pick<Log, 'warn'> }) {
    this.#store = store;
    this.#log = log;
  }

  readonly now = (): number => Math.round(this.#base.time + performance.now() - this.#base.at);

  /** Looks at the database's clock. */
  async follow(): Promise<void> {
    const asked = performance.now();
    const time = await this.#store.read((tx) => tx.nodes.readClock({ now: Date.now() }));
    this.#base = { time, at: (asked + performance.now()) / 2 };
    const offMs = Date.now() - this.now();
    const off = Math.abs(offMs) > MOST_OFF_MS;
    if (off && !this.#told)
      this.#log.warn({ offMs }, `this machine's clock differs from the database's; that one counts`);
    this.#told = off;
  }
}
