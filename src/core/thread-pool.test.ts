import { Worker } from 'node:worker_threads';
import { expect, onTestFinished, test } from 'vitest';
import type { Job, Started } from './thread.ts';
import { createThreadPool, type ThreadPoolOptions } from './thread-pool.ts';

/** Runs the source code it receives; `wait` sleeps for that many milliseconds. */
const BODY = `
  const { parentPort, threadId } = require('node:worker_threads');
  const wait = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
  parentPort.on('message', (source) => parentPort.postMessage(eval(source)));
`;

function openPool(options: Partial<ThreadPoolOptions<Started>> = {}) {
  const workers: Worker[] = [];
  const pool = createThreadPool({
    start() {
      const worker = new Worker(BODY, { eval: true, env: {}, stderr: true });
      workers.push(worker);
      return { worker };
    },
    threads: 2,
    warm: 2,
    patienceMs: 0,
    limitFrom: 'start',
    memoryBytes: null,
    ...options,
  });
  onTestFinished(() => pool.close());
  const run = (source: string, timeoutMs = 20_000) => pool.run(evaluate(source, timeoutMs));
  return { run, workers, close: () => pool.close() };
}

function evaluate(source: string, timeoutMs: number): Job<Started, unknown> {
  return {
    message: source,
    timeoutMs,
    receive: (value) => ({ value, spent: value === 'spent' }),
    toError: (failure, cause) => new Error([failure, cause?.message].join(' ').trim()),
  };
}

const FOREVER = 'for (;;) {}';

test('jobs share at most `threads` threads, each with one job at a time', async () => {
  const { run, workers } = openPool();
  const ids = await Promise.all(Array.from({ length: 9 }, () => run('wait(5), threadId')));
  expect(workers).toHaveLength(2);
  expect(new Set(ids).size).toBe(2);
});

test('a job that exceeds its time limit is killed, and the next one gets a thread', async () => {
  const { run, workers } = openPool({ threads: 1 });
  const long = run(FOREVER, 100);
  const after = run('1');
  await expect(long).rejects.toThrow('too long');
  expect(workers).toHaveLength(1);
  expect(await after).toBe(1);
  expect(workers[0]?.threadId).toBe(-1);
});

test('a limit from the start excludes the time a job waits, one from the request includes it', async () => {
  const patient = openPool({ threads: 1 });
  const busy = patient.run('wait(300), 1');
  expect(await patient.run('2', 250)).toBe(2);
  expect(await busy).toBe(1);
  const hasty = openPool({ threads: 1, limitFrom: 'request' });
  await hasty.run('0');
  const first = hasty.run('wait(300), 1');
  await expect(hasty.run('2', 100)).rejects.toThrow('not begun');
  expect(await first).toBe(1);
});

test('a crash fails the job that runs in that thread', async () => {
  const { run } = openPool();
  const outcomes = await Promise.allSettled([run('throw new Error("broken")'), run('wait(50), 1')]);
  expect(outcomes).toMatchObject([{ reason: { message: 'crashed broken' } }, { value: 1 }]);
  await expect(run('process.exit()')).rejects.toThrow('ended');
  expect(await run('2')).toBe(2);
});

test('a thread that ended while idle, or is spent, is not reused', async () => {
  const { run, workers } = openPool({ threads: 1 });
  await run('setImmediate(() => process.exit()), 1');
  // It may have ended before we could wait for its event.
  await expect.poll(() => workers[0]?.threadId).toBe(-1);
  expect(await run('"spent"')).toBe('spent');
  expect(await run('2')).toBe(2);
  expect(workers).toHaveLength(3);
});

test('memory outside the heap of a thread counts', async () => {
  const { run } = openPool({ memoryBytes: 50 * 1024 * 1024 });
  await expect(run(`globalThis.held = Buffer.alloc(1e8, 1); ${FOREVER}`)).rejects.toThrow('too large');
  expect(await run('1')).toBe(1);
});

test('a message that cannot be sent fails only its own job', async () => {
  const { run, workers } = openPool();
  await expect(run((() => {}) as never)).rejects.toThrow('not sent');
  expect(await run('1')).toBe(1);
  expect(workers).toHaveLength(1);
});

test('with patience, another thread starts only when the existing ones are stuck', async () => {
  const { run, workers } = openPool({ patienceMs: 500 });
  await run('0');
  for (let n = 0; n < 5; n++) await Promise.all([run('1'), run('2')]);
  expect(workers).toHaveLength(1);
  const stuck = run(FOREVER, 5_000);
  expect(await run('1')).toBe(1);
  expect(workers).toHaveLength(2);
  await expect(stuck).rejects.toThrow('too long');
});

test('closing the pool fails running, waiting and new jobs', async () => {
  const { run, close, workers } = openPool({ threads: 1 });
  const jobs = Promise.allSettled([run(FOREVER), run('1')]);
  await close();
  expect(workers[0]?.threadId).toBe(-1);
  expect(await jobs).toMatchObject([{ reason: { message: 'ended' } }, { reason: { message: 'closed' } }]);
  await expect(run('1')).rejects.toThrow('closed');
});
