import { Worker } from 'node:worker_threads';
import { SubstratError } from '../core/errors.ts';
import type { Failure, Job } from '../core/thread.ts';
import { createThreadPool } from '../core/thread-pool.ts';
import { consult } from './context.ts';
import type { FromThread, ScriptJob, ScriptOutcome, ThreadData } from './protocol.ts';
import { request } from './requests.ts';
import type { Script, ScriptCall, Scripting } from './script.ts';

export interface PoolOptions {
  /** Maximum number of scripts that run at once. */
  readonly threads: number;
  /** Number of idle threads to keep. */
  readonly warm: number;
  readonly memoryBytes: number;
  readonly resultBytes: number;
}

interface LuaThread {
  readonly worker: Worker;
  readonly signal: ThreadData['signal'];
}

const PATIENCE_MS = 40;
const WORKER = new URL(`./worker${import.meta.filename.slice(-3)}`, import.meta.url);

/** A pool of Lua threads. A script's thread sleeps while it waits for a host call, so host calls run here. */
export function createPool({ threads, warm, ...limits }: PoolOptions): Scripting {
  const pool = createThreadPool({
    start: () => startLua(limits),
    threads,
    warm,
    patienceMs: PATIENCE_MS,
    limitFrom: 'request',
    memoryBytes: null,
  });
  const warmUp = () => {
    if (warm > 0) pool.warmUp();
  };
  return {
    async run(script, call) {
      const abort = new AbortController();
      try {
        return await pool.run(toJob(script, call, abort.signal));
      } finally {
        abort.abort();
        // Replaces a thread that a bad script broke before the next script arrives.
        warmUp();
      }
    },
    warmUp,
    close: () => pool.close(),
  };
}

function startLua(limits: Omit<ThreadData, 'signal'>): LuaThread {
  const signal = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(WORKER, {
    workerData: { signal, ...limits } satisfies ThreadData,
    env: {},
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 8 },
  });
  return { worker, signal };
}

function toJob(script: Script, call: ScriptCall | null, abort: AbortSignal): Job<LuaThread, unknown> {
  return {
    message: toMessage(script, call),
    timeoutMs: script.timeoutMs,
    receive(received, thread) {
      const message = received as FromThread;
      if (message.type === 'ask') {
        const { operation, args } = message;
        const asked =
          operation === 'http' ? request(args, script.network, abort) : consult(call?.knowledge, operation, args);
        void asked.then(
          (value) => reply(thread, { ok: true, value }),
          (error: unknown) =>
            reply(thread, { ok: false, message: error instanceof Error ? error.message : String(error) }),
        );
      } else if (message.type === 'log') call?.log?.(message.level, message.message);
      if (message.type !== 'done') return null;
      const { outcome, spent } = message;
      return outcome.ok ? { value: outcome.value, spent } : { error: scriptError(outcome.message), spent };
    },
    toError: (failure, cause) => toError(script, failure, cause),
  };
}

function toMessage(script: Script, call: ScriptCall | null): ScriptJob {
  if (call === null) return { script, call };
  const { method, args, context } = call;
  return { script, call: { method, args, context: context !== undefined, config: context?.config ?? null } };
}

function reply({ worker, signal }: LuaThread, outcome: ScriptOutcome): void {
  try {
    worker.postMessage(outcome);
  } catch (error) {
    worker.postMessage({ ok: false, message: unsent(error as Error) } satisfies ScriptOutcome);
  }
  Atomics.store(signal, 0, 1);
  Atomics.notify(signal, 0);
}

function toError({ name, timeoutMs }: Script, failure: Failure, cause: Error | null): SubstratError {
  const limit = `${timeoutMs / 1_000} s`;
  switch (failure) {
    case 'closed':
      return new SubstratError('not_running', 'Scripts are no longer started: the program is shutting down.');
    case 'not begun':
      return new SubstratError(
        'timeout',
        `${name} did not start within ${limit}: all threads were busy with other scripts.`,
      );
    case 'too long':
      return new SubstratError('timeout', `${name} timed out after ${limit}.`);
    case 'not sent':
      return scriptError(unsent(cause));
    case 'crashed':
    case 'too large':
      return scriptError(`the script crashed its thread (${cause?.message ?? failure})`);
    case 'ended':
      return scriptError('the thread of the script has ended');
  }
}

/** The error for a value that cannot be copied to the thread, such as an endlessly nested one. */
function unsent(error: Error | null): string {
  return `its arguments cannot be passed to the script (${error?.message})`;
}

function scriptError(message: string): SubstratError {
  return new SubstratError('script_error', message);
}
