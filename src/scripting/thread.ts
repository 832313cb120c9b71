import { Worker } from 'node:worker_threads';
import { SubstratError } from '../core/errors.ts';
import { consult } from './context.ts';
import type { FromThread, Job, Outcome, ThreadData } from './protocol.ts';
import { request } from './requests.ts';
import type { Script, ScriptCall } from './scripting.ts';

export interface Thread {
  /** False once it has stopped, or has grown so much that it should. */
  readonly usable: boolean;
  /** False while it starts. */
  readonly ready: boolean;
  run(script: Script, call: ScriptCall | null): Promise<unknown>;
  /** Ends whatever it does, in the middle of a loop or a pattern too. */
  stop(): Promise<void>;
}

interface Current {
  readonly script: Script;
  readonly call: ScriptCall | null;
  readonly abort: AbortController;
  end(outcome: Outcome): void;
}

/** One thread of Lua. While it asks for something it sleeps, so what it asks for is done here. */
export function startThread({ memoryBytes, resultBytes }: Omit<ThreadData, 'signal'>): Thread {
  const signal = new Int32Array(new SharedArrayBuffer(4));
  const data: ThreadData = { signal, memoryBytes, resultBytes };
  const worker = new Worker(new URL(`./worker${import.meta.filename.slice(-3)}`, import.meta.url), {
    workerData: data,
    env: {},
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 8 },
  });
  worker.unref();
  let usable = true;
  let ready = false;
  let current: Current | null = null;

  const fail = (message: string) => {
    usable = false;
    current?.end({ ok: false, message });
  };
  worker.on('error', (error: Error) => fail(`the script broke its thread (${error.message})`));
  worker.on('exit', () => fail('the thread of the script has ended'));
  worker.on('message', (message: FromThread) => {
    if (message.type === 'ready') ready = true;
    if (current === null) return;
    if (message.type === 'ask') void reply(current, message.operation, message.args);
    else if (message.type === 'log') current.call?.log?.(message.level, message.message);
    else if (message.type === 'done') {
      usable &&= !message.spent;
      current.end(message.outcome);
    }
  });

  async function reply({ script, call, abort }: Current, operation: string, args: readonly unknown[]) {
    const outcome = await (operation === 'http'
      ? request(args, script.network, abort.signal)
      : consult(call?.knowledge, operation, args)
    ).then(
      (value): Outcome => ({ ok: true, value }),
      (error: unknown): Outcome => ({ ok: false, message: error instanceof Error ? error.message : String(error) }),
    );
    try {
      worker.postMessage(outcome);
    } catch (error) {
      worker.postMessage({ ok: false, message: unsent(error) } satisfies Outcome);
    }
    Atomics.store(signal, 0, 1);
    Atomics.notify(signal, 0);
  }

  function run(script: Script, call: ScriptCall | null): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const abort = new AbortController();
    current = {
      script,
      call,
      abort,
      end(outcome) {
        current = null;
        worker.unref();
        abort.abort();
        if (outcome.ok) resolve(outcome.value);
        else reject(new SubstratError('script_error', outcome.message));
      },
    };
    worker.ref();
    try {
      worker.postMessage(toJob(script, call));
    } catch (error) {
      current.end({ ok: false, message: unsent(error) });
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
    async stop() {
      usable = false;
      await worker.terminate();
    },
  };
}

/** What cannot be copied into the thread, such as what is nested without end, is the one's who gave it. */
function unsent(error: unknown): string {
  return `what it was given cannot be handed over (${error instanceof Error ? error.message : String(error)})`;
}

function toJob(script: Script, call: ScriptCall | null): Job {
  if (call === null) return { script, call };
  const { method, args, context } = call;
  return { script, call: { method, args, context: context !== undefined, config: context?.config ?? null } };
}
