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
const TRACE_MS = Number(process.env.SUBSTRAT_BENCH_PAGE_MS ?? 60_000);

/** The page under load: a long channel that is scrolled and written in, a large tree, and fifty events a second. */
export default async function page({ scratch, defer }: Bench): Promise<Row[]> {
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
  await shown.evaluate('globalThis.gc?.()');
  const before = await heapOf(shown);
  await browser.startTracing(shown, { path: trace, categories: ['toplevel', 'disabled-by-default-devtools.timeline'] });
  await use(shown);
  await browser.stopTracing();
  const frames = (await shown.evaluate('globalThis.frames_')) as number[];
  const after = await heapOf(shown);
  posting.abort();
  await posts;

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
    row('heap, growth', 'MB', (after - before) / 1e6),
    row('elements', '', Number(await shown.evaluate('document.querySelectorAll("*").length'))),
  ];
}

const COUNT_FRAMES = `globalThis.frames_ = []; let last = performance.now();
  requestAnimationFrame(function frame(now) { frames_.push(now - last); last = now; requestAnimationFrame(frame); });`;

/** Scrolls up and down, and types. */
async function use(page: Page): Promise<void> {
  // By coordinates: looking for elements by their role would itself be work for the page.
  const field = await page.locator('.compose textarea').first().boundingBox();
  const log = await page.locator('.log').boundingBox();
  if (!field || !log) throw new Error('The channel is not on the screen.');
  const over = (box: { x: number; y: number; width: number; height: number }) =>
    [box.x + box.width / 2, box.y + box.height / 2] as const;
  for (const end = performance.now() + TRACE_MS; performance.now() < end; ) {
    await page.mouse.move(...over(log));
    for (let i = 0; i < 30; i += 1) {
      await page.mouse.wheel(0, -240);
      await sleep(30);
    }
    await page.mouse.click(...over(field));
    await page.keyboard.type('some words that are typed ', { delay: 40 });
    await page.mouse.move(...over(log));
    for (let i = 0; i < 15; i += 1) {
      await page.mouse.wheel(0, 300);
      await sleep(30);
    }
  }
}

async function post(client: Awaited<ReturnType<typeof startDaemon>>['client'], signal: AbortSignal): Promise<void> {
  for (let i = 0; !signal.aborted; i += 1) {
    const channel = i % 5 === 0 ? 'long' : 'other';
    if (i === 0) await client.createChannel({ id: 'other' });
    await client.postMessage(channel, { text: text(i) }).catch(() => {});
    await sleep(1000 / EVENTS_PER_SECOND);
  }
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
