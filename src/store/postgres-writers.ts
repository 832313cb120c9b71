import { SubstratError } from '../core/errors.ts';
import { held, under } from '../core/tracing.ts';
import type { BatchState } from './batch.ts';
import { storeError, unknownOutcome } from './commit-errors.ts';
import type { PostgresConnections } from './postgres-connections.ts';
import { EVERYTHING, LocalLocks, LockGuesses } from './postgres-locks.ts';
import { type Attempted, PostgresWriter } from './postgres-writer.ts';
import type { Tx } from './store.ts';

interface Write {
  readonly work: (tx: Tx) => Promise<unknown>;
  readonly like: readonly string[];
  locks: ReadonlySet<string>;
  tries: number;
  duplicates: number;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** After this many starts with more locks each time, the next one locks everything. */
const MOST_GROWTHS = 6;
/** A write that meets others' locks again and again gives up; a row that exists is another's only the first times. */
const MOST_TRIES = 12;
const MOST_DUPLICATES = 3;

/**
 * Writers of one node: each has a transaction of its own, and several run at the same time unless they need the same
 * locks. A write finds out what it must lock by being refused (migrations/0030-writers.ts), and starts again with it.
 */
export class PostgresWriters {
  readonly #onCommit: (batch: Readonly<BatchState>) => void;
  readonly #locks = new LocalLocks();
  readonly #guesses = new LockGuesses();
  readonly #free: PostgresWriter[];
  readonly #waiting: Write[] = [];
  readonly #running = new Set<Promise<void>>();
  #closed = false;
  commits = 0;

  constructor(connections: PostgresConnections, onCommit: (batch: Readonly<BatchState>) => void) {
    this.#onCommit = onCommit;
    this.#free = Array.from({ length: connections.limits.writers }, () => new PostgresWriter(connections));
  }

  write<T>(work: (tx: Tx) => Promise<T>, like: readonly string[]): Promise<T> {
    if (this.#closed) return Promise.reject(new SubstratError('store', 'The store is closed.'));
    return new Promise<T>((resolve, reject) => {
      const locks = this.#guesses.guess(like);
      const { run, release } = held(work);
      const succeed = (value: unknown) => {
        release();
        resolve(value as T);
      };
      const counts = { tries: 0, duplicates: 0 };
      const settle = { resolve: succeed, reject };
      this.#waiting.push({ work: run, like, locks, ...counts, ...settle });
      under(undefined, () => this.#startNext());
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  /** In the order of arrival: nobody overtakes one who waits for the same lock. */
  #startNext(): void {
    const before = new LocalLocks();
    for (let i = 0; i < this.#waiting.length && this.#free.length > 0; ) {
      const write = this.#waiting[i] as Write;
      if (!this.#locks.isFree(write.locks) || !before.isFree(write.locks)) {
        before.take(write.locks);
        i += 1;
        continue;
      }
      this.#waiting.splice(i, 1);
      this.#start(this.#free.pop() as PostgresWriter, write);
    }
  }

  #start(writer: PostgresWriter, write: Write): void {
    const { locks } = write;
    this.#locks.take(locks);
    const running = writer.attempt(write.work, locks).then((attempted) => {
      this.#locks.release(locks);
      this.#free.push(writer);
      this.#end(write, attempted);
    });
    this.#running.add(running);
    void running.finally(() => {
      this.#running.delete(running);
      this.#startNext();
    });
  }

  #end(write: Write, attempted: Attempted): void {
    switch (attempted.as) {
      case 'committed':
        this.#succeed(write, attempted);
        break;
      case 'failed':
        write.reject(attempted.error);
        break;
      case 'again':
        this.#again(write, attempted);
        break;
      case 'doubtful': {
        const { outcome, error } = attempted;
        const resolved = outcome.then((found) => {
          if (found === 'committed') this.#succeed(write, attempted);
          else write.reject(found === 'aborted' ? storeError(error) : unknownOutcome(error));
        });
        this.#running.add(resolved);
        void resolved.finally(() => this.#running.delete(resolved));
      }
    }
  }

  #succeed(write: Write, { value, batch }: { readonly value: unknown; readonly batch: Readonly<BatchState> }): void {
    this.commits += 1;
    if (write.tries > 0) this.#guesses.learn(write.like, write.locks);
    if (batch.events > 0 || batch.runnable) this.#onCommit(batch);
    write.resolve(value);
  }

  #again(write: Write, { missing, error, duplicate }: Extract<Attempted, { as: 'again' }>): void {
    write.tries += 1;
    if (duplicate) write.duplicates += 1;
    if (write.tries > MOST_TRIES || write.duplicates > MOST_DUPLICATES) {
      write.reject(storeError(error));
      return;
    }
    const grown = new Set([...write.locks, ...missing]);
    write.locks = missing.length > 0 && write.tries >= MOST_GROWTHS ? new Set([EVERYTHING]) : grown;
    this.#waiting.unshift(write);
  }
}
