import { expect, test } from 'vitest';
import { Lanes } from './lanes.ts';

/** Tasks that end when they are told to. */
function startTasks() {
  const waiting: PromiseWithResolvers<void>[] = [];
  const task = () => {
    const one = Promise.withResolvers<void>();
    waiting.push(one);
    return one.promise;
  };
  return { waiting, task };
}

test('tasks wait while the bytes of the running ones are at the limit', async () => {
  const { waiting, task } = startTasks();
  const lanes = new Lanes();
  await lanes.add(4 * 1024 * 1024, task);
  const second = lanes.add(1, task);
  await new Promise((resolve) => setImmediate(resolve));
  expect(waiting.length).toBe(1);
  waiting[0]?.resolve();
  await second;
  expect(waiting.length).toBe(2);
  waiting[1]?.resolve();
  await lanes.finish();
});

test('at most 512 tasks run at once, and finish() waits for the last', async () => {
  const { waiting, task } = startTasks();
  const lanes = new Lanes();
  for (let n = 0; n < 512; n += 1) await lanes.add(1, task);
  const next = lanes.add(1, task);
  let isFinished = false;
  await new Promise((resolve) => setImmediate(resolve));
  expect(waiting.length).toBe(512);
  waiting[7]?.resolve();
  await next;
  expect(waiting.length).toBe(513);
  const finished = lanes.finish().then(() => {
    isFinished = true;
  });
  for (const one of waiting.slice(0, -1)) one.resolve();
  await new Promise((resolve) => setImmediate(resolve));
  expect(isFinished).toBe(false);
  waiting.at(-1)?.resolve();
  await finished;
});

test('after a failure no task starts, and the error comes when all have ended', async () => {
  const { waiting, task } = startTasks();
  const lanes = new Lanes();
  await lanes.add(1, task);
  await lanes.add(1, task);
  waiting[0]?.reject(new Error('disk'));
  await new Promise((resolve) => setImmediate(resolve));
  const third = lanes.add(1, task);
  let hasFailed = false;
  third.catch(() => {
    hasFailed = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(hasFailed).toBe(false);
  waiting[1]?.resolve();
  await expect(third).rejects.toThrow('disk');
  expect(waiting.length).toBe(2);
});
