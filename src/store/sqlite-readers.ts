import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { SubstratError } from '../core/errors.ts';
import type { End, Failure, Job } from '../core/thread.ts';
import { createThreadPool } from '../core/thread-pool.ts';
import { createTx } from './create-tx.ts';
import type { Execute, Result } from './query.ts';
import type { FromReader, ToReader } from './sqlite-reader.ts';
import type { Tx } from './store.ts';

export interface Readers {
  /** Runs `work` on a snapshot of what is committed now. Statements that have not begun at the signal's abort never do. */
  read<T>(work: (tx: Tx) => Promise<T>, signal?: AbortSignal): Promise<T>;
  /** Reads fail from now on; resolves when no thread has the file open. */
  close(): Promise<void>;
}

const WORKER = new URL(`./sqlite-reader${import.meta.filename.slice(-3)}`, import.meta.url);
/** All cores, but not many: each thread has its own cache. */
const MOST_THREADS = 4;
/** From the request on, so that a queue is bounded, too. */
const LIMIT_MS = 30_000;

interface Reader {
  readonly worker: Worker;
  /** Made once, because its queries are compiled on first use. */
  readonly tx: Tx;
  /** Those who wait for the rows of their statements, in order. */
  readonly waiting: { readonly resolve: (result: Result) => void; readonly reject: (error: Error) => void }[];
  signal: AbortSignal | undefined;
}

function startReader(path: string): Reader {
  const worker = new Worker(WORKER, { workerData: { path }, env: {}, execArgv: [] });
  const waiting: Reader['waiting'] = [];
  const execute: Execute = (sql, parameters) => {
    if (reader.signal?.aborted) throw reader.signal.reason;
    return new Promise((resolve, reject) => {
      waiting.push({ resolve, reject });
      worker.postMessage({ sql, parameters } satisfies ToReader);
    });
  };
  const tx = createTx('sqlite', execute, { seq: 0, events: 0, runnable: false });
  const reader: Reader = { worker, tx, waiting, signal: undefined };
  return reader;
}

/** Threads with connections of their own, for reads that would hold up everybody else on the main thread. */
export function createReaders(path: string): Readers {
  const threads = Math.min(MOST_THREADS, Math.max(2, availableParallelism()));
  const pool = createThreadPool<Reader>({
    start: () => startReader(path),
    threads,
    warm: threads,
    patienceMs: 0,
    limitFrom: 'request',
    memoryBytes: null,
  });
  return {
    read: async (work, signal) => {
      signal?.throwIfAborted();
      return pool.run(toJob(work, signal));
    },
    close: () => pool.close(),
  };
}

/** The statements go to the thread one by one, and their rows come back in the same order. */
function toJob<T>(work: (tx: Tx) => Promise<T>, signal: AbortSignal | undefined): Job<Reader, T> {
  let outcome: End<T> = { error: unavailable('it ended early') };
  let reader: Reader | null = null;
  const begin = async ({ worker, tx }: Reader) => {
    try {
      outcome = { value: await work(tx) };
    } catch (error) {
      outcome = { error: error as Error };
    }
    worker.postMessage('end' satisfies ToReader);
  };
  return {
    message: 'begin' satisfies ToReader,
    timeoutMs: LIMIT_MS,
    receive(received, started) {
      reader = started;
      const message = received as FromReader;
      if (message === 'ended') return outcome;
      if (message === 'begun') {
        reader.signal = signal;
        void begin(reader);
      } else if ('rows' in message) reader.waiting.shift()?.resolve({ rows: message.rows, changes: 0 });
      else {
        const error = Object.assign(new Error(message.failed), { code: message.code });
        const asked = reader.waiting.shift();
        // Without a statement it is the transaction that failed.
        if (!asked) return { error, spent: true };
        asked.reject(error);
      }
      return null;
    },
    toError: (failure, cause) => {
      const error = unavailable(REASONS[failure] ?? cause?.message ?? 'its thread ended', cause);
      for (const { reject } of reader?.waiting.splice(0) ?? []) reject(error);
      return error;
    },
  };
}

const REASONS: Partial<Record<Failure, string>> = {
  closed: 'the store is closed',
  'not begun': `too many others wait for theirs. Try again later`,
  'too long': `it took longer than ${LIMIT_MS / 1000} seconds. Ask for less`,
};

function unavailable(reason: string, cause: Error | null = null): SubstratError {
  return new SubstratError('store', `The read was given up: ${reason}.`, { cause });
}
