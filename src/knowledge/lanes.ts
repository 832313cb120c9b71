/** Limits for documents and bytes in flight: enough to share commits, little enough to hold in memory. */
const MOST_TASKS = 512;
const MOST_BYTES = 4 * 1024 * 1024;

/**
 * Runs tasks concurrently within limits. After a failure no new task starts, and the error is thrown once all have
 * ended.
 */
export class Lanes {
  #tasks = 0;
  #bytes = 0;
  #failure: { readonly error: unknown } | null = null;
  /** Resolves when a task ends. One for all: a race of the running tasks would cost more than the tasks. */
  #ended = Promise.withResolvers<void>();

  /** Resolves when the next task may be added. */
  async add(bytes: number, task: () => Promise<void>): Promise<void> {
    while (this.#tasks > 0 && (this.#tasks >= MOST_TASKS || this.#bytes + bytes > MOST_BYTES)) {
      await this.#ended.promise;
    }
    if (this.#failure) await this.finish();
    void this.#run(bytes, task);
  }

  async finish(): Promise<void> {
    while (this.#tasks > 0) await this.#ended.promise;
    if (this.#failure) throw this.#failure.error;
  }

  async #run(bytes: number, task: () => Promise<void>): Promise<void> {
    this.#tasks += 1;
    this.#bytes += bytes;
    try {
      await task();
    } catch (error) {
      this.#failure ??= { error };
    }
    this.#tasks -= 1;
    this.#bytes -= bytes;
    this.#ended.resolve();
    this.#ended = Promise.withResolvers<void>();
  }
}
