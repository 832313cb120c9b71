import { holdThread, type Job, type Started, type Thread } from './thread.ts';

export interface ThreadPool<S extends Started> {
  run<Result>(job: Job<S, Result>): Promise<Result>;
  /** Starts a thread before it is first needed, if there is none. */
  warmUp(): void;
  /** Terminates every thread. Running and waiting jobs fail. */
  close(): Promise<void>;
}

export interface ThreadPoolOptions<S extends Started> {
  start(): S;
  /** Maximum number of jobs that run at once. */
  readonly threads: number;
  /** Number of idle threads to keep. */
  readonly warm: number;
  /** How long all threads may be stuck before another one starts, because starting one may cost more than most jobs. */
  readonly patienceMs: number;
  /** Whether a job's time limit counts from its request or from its start. */
  readonly limitFrom: 'request' | 'start';
  /** Limit per thread; null if the worker's own limits are enough. */
  readonly memoryBytes: number | null;
}

interface Waiting<S extends Started> {
  begin(thread: Thread<S>): void;
  refuse(): void;
}

/**
 * Worker threads for jobs that could hang, crash or exhaust memory. Threads start on demand, are reused while they
 * are healthy, and are terminated mid-job when a job exceeds its limits.
 */
export function createThreadPool<S extends Started>(options: ThreadPoolOptions<S>): ThreadPool<S> {
  const { threads, warm, patienceMs, limitFrom, memoryBytes } = options;
  const idle: Thread<S>[] = [];
  const all = new Set<Thread<S>>();
  const ending = new Set<Promise<void>>();
  const queue: Waiting<S>[] = [];
  let closed = false;
  let growing: NodeJS.Timeout | null = null;
  /** When a job last started. */
  let moved = 0;

  const start = () => {
    const thread = holdThread(options.start(), memoryBytes);
    all.add(thread);
    return thread;
  };

  const next = () => {
    if (queue.length === 0 || closed) return;
    const mayStart = patienceMs === 0 ? all.size + ending.size < threads : all.size === 0;
    const thread = takeIdle() ?? (mayStart ? start() : null);
    if (thread === null) return growLater();
    moved = performance.now();
    queue.shift()?.begin(thread);
    next();
  };

  const growLater = () => {
    if (patienceMs === 0) return;
    growing ??= setTimeout(() => {
      growing = null;
      if (queue.length === 0 || closed) return;
      const stuck = performance.now() - moved >= patienceMs && [...all].every((thread) => thread.ready);
      if (stuck && all.size < threads) idle.push(start());
      next();
    }, patienceMs);
  };

  const takeIdle = () => {
    for (let thread = idle.pop(); thread !== undefined; thread = idle.pop()) {
      if (thread.usable) return thread;
      drop(thread);
    }
    return null;
  };

  const release = (thread: Thread<S>) => {
    if (thread.usable && !closed && idle.length < warm) idle.push(thread);
    else drop(thread);
    next();
  };

  const drop = (thread: Thread<S>) => {
    all.delete(thread);
    const end = thread.stop().finally(() => {
      ending.delete(end);
      next();
    });
    ending.add(end);
  };

  const run = <Result>(job: Job<S, Result>): Promise<Result> => {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    let running: Thread<S> | null = null;
    const expire = () => {
      if (running !== null) return running.fail('too long');
      queue.splice(queue.indexOf(waiting), 1);
      reject(job.toError('not begun', null));
    };
    let timer = limitFrom === 'request' ? setTimeout(expire, job.timeoutMs) : undefined;
    const waiting: Waiting<S> = {
      begin(thread) {
        running = thread;
        timer ??= setTimeout(expire, job.timeoutMs);
        const end = thread.run(job).finally(() => {
          clearTimeout(timer);
          release(thread);
        });
        end.then(resolve, reject);
      },
      refuse() {
        clearTimeout(timer);
        reject(job.toError('closed', null));
      },
    };
    if (closed) waiting.refuse();
    else queue.push(waiting);
    next();
    return promise;
  };

  return {
    run,
    warmUp() {
      if (!closed && all.size === 0) idle.push(start());
    },
    async close() {
      closed = true;
      if (growing !== null) clearTimeout(growing);
      for (const waiting of queue.splice(0)) waiting.refuse();
      await Promise.all([...ending, ...[...all].map((thread) => thread.stop())]);
    },
  };
}
