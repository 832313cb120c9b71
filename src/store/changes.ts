import type { Change } from './store.ts';

export interface ChangesOptions {
  /** The number of the last event, as the store has it. */
  readonly lastEvent: () => Promise<number>;
  readonly pollMs: number;
}

/**
 * Tells listeners of commits, and looks for itself whether there were some that nobody told of: a hint from another node can be lost.
 * It looks only while somebody listens.
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
      // The store cannot be reached; the next look comes soon, and one more when it is back.
    } finally {
      this.#looking = false;
    }
  }

  stop(): void {
    if (this.#timer) clearInterval(this.#timer);
    this.#timer = null;
  }
}
