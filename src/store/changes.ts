import type { Change } from './store.ts';

export interface ChangesOptions {
  /** The number of the last event in the store. */
  readonly lastEvent: () => Promise<number>;
  readonly pollMs: number;
}

/**
 * Notifies listeners of commits, and polls for commits that were not announced, because a hint from another node can
 * be lost. Polls only while there are listeners.
 */
export class Changes {
  readonly #options: ChangesOptions;
  readonly #listeners = new Set<(change: Change) => void>();
  #told = 0;
  #timer: NodeJS.Timeout | null = null;
  #looking = false;

  constructor(options: ChangesOptions) {
    this.#options = options;
  }

  listen(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener);
    this.#timer ??= setInterval(() => void this.look(), this.#options.pollMs).unref();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.stop();
    };
  }

  /** The number of the last event that listeners were told of. */
  get told(): number {
    return this.#told;
  }

  tell(change: Change): void {
    this.#told = Math.max(this.#told, change.seq);
    for (const listener of this.#listeners) listener(change);
  }

  async look(): Promise<void> {
    if (this.#looking || this.#listeners.size === 0) return;
    this.#looking = true;
    try {
      const seq = await this.#options.lastEvent();
      if (seq > this.#told) this.tell({ seq, runnable: true });
    } catch {
      // The store is unavailable; polling continues.
    } finally {
      this.#looking = false;
    }
  }

  stop(): void {
    if (this.#timer) clearInterval(this.#timer);
    this.#timer = null;
  }
}
