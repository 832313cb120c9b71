import { SubstratError } from '../core/errors.ts';
import { held, under } from '../core/tracing.ts';
import type { BatchState } from './batch.ts';
import { isDiskFull, storeError } from './commit-errors.ts';
import type { Execute } from './query.ts';
import type { Change, Tx } from './store.ts';

/** The only connection that writes. `begin` returns with the store's write lock held. */
export interface WriteConnection {
  readonly tx: Tx;
  readonly batch: BatchState;
  readonly execute: Execute;
  begin(): Promise<void>;
  commit(): Promise<void>;
  rollback(): Promise<void>;
  inTransaction(): boolean;
}

interface Writer {
  readonly work: (tx: Tx) => Promise<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

type Outcome = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly error: unknown };

/**
 * A batch holds the store's lock, so it is short even if many writers wait: limits for the number of writers and the
 * time to start one.
 */
const MAX_BATCH = 256;
const MAX_BATCH_MS = 2_000;
/** How many batches use savepoints after one failed without: where one writer failed, others are likely to. */
const CAREFUL_BATCHES = 16;

/**
 * Group commit: writers that arrive together share one commit, and each resolves only after it. If one fails, all are
 * executed again, each in its own savepoint, so that it does not affect the others. A savepoint copies every page that
 * its writer changes.
 */
export class SharedCommits {
  readonly #connection: WriteConnection;
  readonly #onCommit: (change: Change) => void;
  readonly #maxBatchMs: number;
  readonly #waiting: Writer[] = [];
  #running: Promise<void> | null = null;
  #closed = false;
  #careful = 0;
  commits = 0;

  constructor(connection: WriteConnection, onCommit: (change: Change) => void, maxBatchMs = MAX_BATCH_MS) {
    this.#connection = connection;
    this.#maxBatchMs = maxBatchMs;
    this.#onCommit = onCommit;
  }

  write<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    if (this.#closed) return Promise.reject(new SubstratError('store', 'The store is closed.'));
    return new Promise<T>((resolve, reject) => {
      const { run, release } = held(work);
      const succeed = (value: unknown) => {
        release();
        resolve(value as T);
      };
      this.#waiting.push({ work: run, resolve: succeed, reject });
      // The batch belongs to no span; each writer keeps its own.
      this.#running ??= under(undefined, () => this.#drain());
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#running;
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      // setImmediate runs after all readable sockets have been read, so their writers join this batch.
      await new Promise((resolve) => setImmediate(resolve));
      await this.#commitBatch(this.#waiting.splice(0, MAX_BATCH));
    }
    this.#running = null;
  }

  async #commitBatch(arrived: readonly Writer[]): Promise<void> {
    let writers = arrived;
    const { batch } = this.#connection;
    try {
      await this.#connection.begin();
    } catch (error) {
      // Writing is impossible now. The waiting writers would only time out again, batch after batch, so they fail
      // too.
      for (const writer of [...writers, ...this.#waiting.splice(0)]) writer.reject(storeError(error));
      return;
    }
    let outcomes: Outcome[] = [];
    let before = 0;
    const succeed = ({ seq, runnable }: BatchState): void => {
      this.commits += 1;
      if (seq !== before || runnable) this.#onCommit({ seq, runnable });
      outcomes.forEach((outcome, i) => {
        if (outcome.ok) writers[i]?.resolve(outcome.value);
        else writers[i]?.reject(outcome.error);
      });
    };
    try {
      before = await this.#connection.tx.events.getEventCounter();
      Object.assign(batch, { seq: before, runnable: false });
      outcomes = writers.length === 1 ? [await this.#single(writers[0] as Writer)] : await this.#each(writers);
      this.#waiting.unshift(...writers.slice(outcomes.length));
      writers = writers.slice(0, outcomes.length);
      await this.#connection.commit();
    } catch (error) {
      if (this.#connection.inTransaction()) await this.#connection.rollback().catch(() => {});
      for (const writer of writers) writer.reject(storeError(error));
      return;
    }
    succeed(batch);
  }

  async #each(writers: readonly Writer[]): Promise<Outcome[]> {
    if (this.#careful > 0) this.#careful -= 1;
    else {
      const outcomes = await this.#inOrder(writers, false);
      if (outcomes.at(-1)?.ok) return outcomes;
      this.#careful = CAREFUL_BATCHES;
      await this.#startAgain();
      const { batch, tx } = this.#connection;
      // Another process may have written in between.
      Object.assign(batch, { seq: await tx.events.getEventCounter(), runnable: false });
    }
    return this.#inOrder(writers, true);
  }

  /** Runs as many writers as there is time for; without savepoints, until one fails. */
  async #inOrder(writers: readonly Writer[], apart: boolean): Promise<Outcome[]> {
    const outcomes: Outcome[] = [];
    const begun = performance.now();
    for (const writer of writers) {
      if (performance.now() - begun > this.#maxBatchMs) break;
      if (apart) await this.#sql('savepoint writer');
      const outcome = await this.#attempt(writer);
      // A full disk or a lost connection ends the whole transaction, not only this writer's part.
      if (!outcome.ok && !this.#connection.inTransaction()) throw outcome.error;
      outcomes.push(outcome);
      if (!apart && !outcome.ok) break;
      if (!outcome.ok) await this.#sql('rollback to savepoint writer');
      if (apart) await this.#sql('release savepoint writer');
    }
    return outcomes;
  }

  /** A single writer needs no savepoint. */
  async #single(writer: Writer): Promise<Outcome> {
    const outcome = await this.#attempt(writer);
    if (outcome.ok) return outcome;
    if (!this.#connection.inTransaction()) throw outcome.error;
    await this.#startAgain();
    return outcome;
  }

  async #startAgain(): Promise<void> {
    await this.#connection.rollback();
    await this.#connection.begin();
  }

  async #attempt(writer: Writer): Promise<Outcome> {
    const { batch } = this.#connection;
    const { seq, runnable } = batch;
    try {
      return { ok: true, value: await writer.work(this.#connection.tx) };
    } catch (error) {
      batch.seq = seq;
      batch.runnable = runnable;
      return { ok: false, error: isDiskFull(error) ? storeError(error) : error };
    }
  }

  async #sql(text: string): Promise<void> {
    await this.#connection.execute(text, []);
  }
}
