import { SubstratError } from '../core/errors.ts';
import type { Script, ScriptCall, Scripting } from './scripting.ts';
import { startThread, type Thread } from './thread.ts';

export interface PoolOptions {
  /** How many scripts run at once. */
  readonly threads: number;
  /** How many idle threads are kept. */
  readonly warm: number;
  readonly memoryBytes: number;
  readonly resultBytes: number;
}

interface Waiting {
  begin(thread: Thread): void;
  refuse(): void;
}

const PATIENCE_MS = 40;

/** Threads, started when they are first needed and used again while they are small. A script's limit counts from its request. */
export function createPool({ threads, warm, ...limits }: PoolOptions): Scripting {
  const idle: Thread[] = [];
  const all = new Set<Thread>();
  const queue: Waiting[] = [];
  let closed = false;
  let growing: NodeJS.Timeout | null = null;
  /** When a script was last begun. */
  let moved = 0;

  const start = () => {
    const thread = startThread(limits);
    all.add(thread);
    return thread;
  };

  const next = () => {
    if (queue.length === 0 || closed) return;
    const thread = takeIdle() ?? (all.size === 0 ? start() : null);
    if (thread === null) return growLater();
    moved = performance.now();
    queue.shift()?.begin(thread);
    if (queue.length > 0) next();
  };

  /** To start a thread costs more than most scripts: another one is worth it only when those that are there are stuck. */
  const growLater = () => {
    growing ??= setTimeout(() => {
      growing = null;
      if (queue.length === 0 || closed) return;
      const stuck = performance.now() - moved >= PATIENCE_MS && [...all].every((thread) => thread.ready);
      if (stuck && all.size < threads) idle.push(start());
      next();
    }, PATIENCE_MS);
  };

  const takeIdle = () => {
    for (let thread = idle.pop(); thread !== undefined; thread = idle.pop()) {
      if (thread.usable) return thread;
      drop(thread);
    }
    return null;
  };

  const release = (thread: Thread) => {
    if (thread.usable && !closed && idle.length < warm) idle.push(thread);
    else drop(thread);
    if (queue.length > 0) next();
    // What a bad script broke is made good before the next one comes.
    else warmUp();
  };

  const warmUp = () => {
    if (!closed && all.size === 0 && warm > 0) idle.push(start());
  };

  const drop = (thread: Thread) => {
    all.delete(thread);
    void thread.stop();
  };

  const run = (script: Script, call: ScriptCall | null) => {
    if (closed) throw ending();
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    let running: Thread | null = null;
    const waiting: Waiting = {
      begin(thread) {
        running = thread;
        void thread.run(script, call).then(resolve, reject).finally(finish);
      },
      refuse: () => reject(ending()),
    };
    const finish = () => {
      clearTimeout(timer);
      const thread = running;
      running = null;
      if (thread !== null) release(thread);
    };
    const timer = setTimeout(() => {
      const place = queue.indexOf(waiting);
      if (place >= 0) queue.splice(place, 1);
      reject(tooLong(script, place >= 0));
      if (running !== null) drop(running);
      finish();
    }, script.timeoutMs);
    queue.push(waiting);
    next();
    return promise;
  };

  return {
    run: async (script, call) => run(script, call),
    warmUp,
    async close() {
      closed = true;
      if (growing !== null) clearTimeout(growing);
      for (const waiting of queue.splice(0)) waiting.refuse();
      await Promise.all([...all].map((thread) => thread.stop()));
    },
  };
}

function tooLong({ name, timeoutMs }: Script, waited: boolean): SubstratError {
  const limit = `its ${timeoutMs / 1_000} s`;
  const what = waited ? `was not begun within ${limit}: other scripts had every thread` : `took longer than ${limit}`;
  return new SubstratError('timeout', `${name} ${what}.`);
}

function ending(): SubstratError {
  return new SubstratError('not_running', 'No script is begun any more: the program is ending.');
}
