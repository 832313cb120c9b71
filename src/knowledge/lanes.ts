/** Limits for documents and bytes in flight: enough to share commits, little enough to hold in memory. */
const MOST_TASKS = 512;
const MOST_BYTES = 4 * 1024 * 1024;

/**
 * Runs tasks concurrently within limits. After a failure no new task starts, and the error is thrown once all have
 * ended.
 */
export class Lanes {
  readonly #running = new Set<Promise<void>>();
  #bytes = 0;
  #failure: { readonly error: unknown } | null = null;

  /** Resolves when the next task may be added. */
  async add(bytes: number, task: () => Promise<void>): Promise<void> {
    while (this.#running.size > 0 && (this.#running.size >= MOST_TASKS || this.#bytes + bytes > MOST_BYTES)) {
      await Promise.race(this.#running);
    }
    if (this.#failure) await this.finish();
    this.#bytes += bytes;
    const running: Promise<void> = task()
      .catch((error: unknown) => {
        this.#failure ??= { error };
      })
      .finally(() => {
        this.#bytes -= bytes;
        this.#running.delete(running);
      });
    this.#running.add(running);
  }

  async finish(): Promise<void> {
    await Promise.all(this.#running);
    if (this.#failure) throw this.#failure.error;
  }
}
