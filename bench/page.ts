import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { openBrowser, openPage } from '../test/helpers/browser.ts';
import { startDaemon } from './daemon.ts';
import { type Bench, percentile, type Row } from './measure.ts';

const MESSAGES = 10_000;
const AGENTS = 500;
const EVENTS_PER_SECOND = 50;
/** The heap is read after a fifth of these minutes, when everything was used once, and at their end. */
const HEAP_MINUTES = 10;
const MINUTE_MS = 60_000;
const TRACE_MS = Number(process.env.SUBSTRAT_BENCH_PAGE_MS ?? 60_000);

/** The page under load: a long channel that is scrolled and written in, a large tree, and fifty events a second. */
export default async function page({ scratch, minutes, defer }: Bench): Promise<Row[]> {
  const daemon = await startDaemon(join(scratch, 'home'));
  defer(() => daemon.stop());
  const { client } = daemon;
  await client.createChannel({ id: 'long' });
  await inParallel(AGENTS, (i) => client.createAgent({ name: `agent-${i}`, provider: 'external' }));
  await inParallel(MESSAGES, (i) => client.postMessage('long', { text: text(i) }));
  const browser = await openBrowser();
  defer(() => browser.close());
  const { page: shown } = await openPage(browser, client, { at: '/talk/long' });
  await shown.getByRole('log').getByRole('article').first().waitFor();

  const posting = new AbortController();
  const posts = post(client, posting.signal);
  const trace = join(scratch, 'trace.json');
  await shown.evaluate(COUNT_FRAMES);
  await browser.startTracing(shown, { path: trace, categories: ['toplevel', 'disabled-by-default-devtools.timeline'] });
  await use(shown, { ms: TRACE_MS, down: 15 });
  await browser.stopTracing();
  const frames = (await shown.evaluate('globalThis.frames_')) as number[];
  const elements = Number(await shown.evaluate('document.querySelectorAll("*").length'));
  await shown.context().close();
  // Another page, without a trace and without counted frames, which would be part of its heap.
  const { page: lasting } = await openPage(browser, client, { at: '/talk/long' });
  await lasting.getByRole('log').getByRole('article').first().waitFor();
  const [from, to] = [(minutes ?? HEAP_MINUTES) / 5, minutes ?? HEAP_MINUTES];
  await use(lasting, { ms: from * MINUTE_MS, down: 60 });
  const before = await heapOf(lasting);
  await use(lasting, { ms: (to - from) * MINUTE_MS, down: 60 });
  const after = await heapOf(lasting);
  posting.abort();
  const rate = await posts;

  const tasks = tasksOf(trace);
  const dropped = frames.filter((ms) => ms > 25).reduce((sum, ms) => sum + Math.round(ms / 16.7) - 1, 0);
  const row = (name: string, unit: string, result: number, atMost?: number): Row => ({
    ...{ name: `page, ${name}`, unit, yardstick: null, result, goalOf: 'result' },
    ...(atMost !== undefined && { atMost }),
  });
  return [
    row('longest task, CPU', 'ms', Math.max(...tasks), 50),
    row('tasks, CPU, p99.9', 'ms', percentile(tasks, 99.9)),
    row('dropped frames', '%', (100 * dropped) / (frames.length + dropped), 5),
    row(
      `heap after GC, growth from minute ${from} to ${to}`,
      'MB',
      (after - before) / 1e6,
      to >= HEAP_MINUTES ? 2 : undefined,
    ),
    row(`heap after GC, minute ${to}`, 'MB', after / 1e6),
    row('elements', '', elements),
    row('messages posted a second', '', rate),
  ];
}

const COUNT_FRAMES = `globalThis.frames_ = []; let last = performance.now();
  requestAnimationFrame(function frame(now) { frames_.push(now - last); last = now; requestAnimationFrame(frame); });`;

/** Scrolls up, types and scrolls down: 24 steps down lead back to the end, where the reader follows again. */
async function use(page: Page, { ms, down }: { readonly ms: number; readonly down: number }): Promise<void> {
  // By coordinates: looking for elements by their role would itself be work for the page.
  const field = await page.locator('.compose textarea').first().boundingBox();
  const log = await page.locator('.log').boundingBox();
  if (!field || !log) throw new Error('The channel is not on the screen.');
  const over = (box: { x: number; y: number; width: number; height: number }) =>
    [box.x + box.width / 2, box.y + box.height / 2] as const;
  for (const end = performance.now() + ms; performance.now() < end; ) {
    await page.mouse.move(...over(log));
    for (let i = 0; i < 30; i += 1) {
      await page.mouse.wheel(0, -240);
      await sleep(30);
    }
    await page.mouse.click(...over(field));
    await page.keyboard.type('some words that are typed ', { delay: 40 });
    await page.mouse.move(...over(log));
    for (let i = 0; i < down; i += 1) {
      await page.mouse.wheel(0, 300);
      await sleep(30);
    }
  }
}

/** Posts until it is stopped, at its rate however long a post takes. Returns how many there were a second. */
async function post(client: Awaited<ReturnType<typeof startDaemon>>['client'], signal: AbortSignal): Promise<number> {
  const start = performance.now();
  let posted = 0;
  for (let i = 0; !signal.aborted; i += 1) {
    const channel = i % 5 === 0 ? 'long' : 'other';
    if (i === 0) await client.createChannel({ id: 'other' });
    await client.postMessage(channel, { text: text(i) }).then(
      () => {
        posted += 1;
      },
      () => {},
    );
    await sleep(Math.max(0, start + (i * 1000) / EVENTS_PER_SECOND - performance.now()));
  }
  return (1000 * posted) / (performance.now() - start);
}

/** CPU of each task of the page's main thread, in milliseconds. */
function tasksOf(trace: string): number[] {
  const { traceEvents } = JSON.parse(readFileSync(trace, 'utf8')) as {
    traceEvents: { name: string; pid: number; tid: number; tdur?: number; args?: { name?: string } }[];
  };
  const main = new Set(
    traceEvents
      .filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain')
      .map(({ pid, tid }) => `${pid} ${tid}`),
  );
  return traceEvents
    .filter(({ name, pid, tid }) => name === 'RunTask' && main.has(`${pid} ${tid}`))
    .map(({ tdur = 0 }) => tdur / 1000);
}

async function heapOf(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  await session.detach();
  return usedSize;
}

function text(i: number): string {
  return `Message ${i} with some **words** and \`code\`.${i % 10 === 0 ? '\n\n```ts\nconst x = 1;\nreturn x;\n```' : ''}`;
}

async function inParallel(count: number, work: (i: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let i = next++; i < count; i = next++) await work(i);
  };
  await Promise.all(Array.from({ length: 16 }, worker));
}
