import type { Worker } from 'node:worker_threads';

/** Why a job ended without its own result. */
export type Failure = 'closed' | 'not begun' | 'too long' | 'too large' | 'not sent' | 'crashed' | 'ended';

/** What a job runs in: a worker with its limits, and whatever its starter needs to talk to it. */
export interface Started {
  readonly worker: Worker;
}

export type End<Result> = { readonly value: Result } | { readonly error: Error };

export interface Job<S extends Started, Result> {
  readonly message: unknown;
  readonly timeoutMs: number;
  /** Called with each message from the thread. Returns the job's result, or null while it is running. */
  receive(message: unknown, started: S): (End<Result> & { readonly spent?: boolean }) | null;
  toError(failure: Failure, cause: Error | null): Error;
}

/** A worker that does one job at a time. Its job can be aborted at any point; if the worker exits, its job fails. */
export interface Thread<S extends Started> {
  /** False once it has ended or cannot take another job. */
  readonly usable: boolean;
  /** False until its first message. */
  readonly ready: boolean;
  run<Result>(job: Job<S, Result>): Promise<Result>;
  /** Fails the current job. The thread is not usable afterwards. */
  fail(failure: Failure): void;
  stop(): Promise<void>;
}

interface Current<S extends Started> {
  readonly job: Job<S, unknown>;
  end(end: End<unknown>): void;
}

const MEMORY_CHECK_MS = 100;

/** With `memoryBytes`, memory outside the heap counts too, which worker limits do not cover. */
export function holdThread<S extends Started>(started: S, memoryBytes: number | null): Thread<S> {
  const { worker } = started;
  let usable = true;
  let ready = false;
  let current: Current<S> | null = null;

  const fail = (failure: Failure, cause: Error | null = null) => {
    usable = false;
    current?.end({ error: current.job.toError(failure, cause) });
  };
  worker.unref();
  worker.on('error', (error: Error) => fail('crashed', error));
  worker.on('exit', () => fail('ended'));
  worker.on('message', (message: unknown) => {
    ready = true;
    const end = current?.job.receive(message, started) ?? null;
    if (end === null) return;
    usable &&= !end.spent;
    current?.end(end);
  });

  const checkMemory = async (limit: number) => {
    const heap = await worker.getHeapStatistics().catch(() => null);
    if (heap !== null && heap.used_heap_size + heap.external_memory > limit) fail('too large');
  };

  function run<Result>(job: Job<S, Result>): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const check = memoryBytes === null ? undefined : setInterval(() => void checkMemory(memoryBytes), MEMORY_CHECK_MS);
    current = {
      job,
      end(end) {
        current = null;
        clearInterval(check);
        worker.unref();
        if ('error' in end) reject(end.error);
        else resolve(end.value as Result);
      },
    };
    worker.ref();
    try {
      worker.postMessage(job.message);
    } catch (error) {
      current.end({ error: job.toError('not sent', error as Error) });
    }
    return promise;
  }

  return {
    get usable() {
      return usable;
    },
    get ready() {
      return ready;
    },
    run,
    fail: (failure) => fail(failure),
    async stop() {
      usable = false;
      await worker.terminate();
    },
  };
}
