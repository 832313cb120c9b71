import { request } from 'node:http';
import { join } from 'node:path';
import { startDaemon } from './daemon.ts';
import { type Bench, median, percentile, type Row } from './measure.ts';

const READERS = 1000;
const POSTS = 40;

/**
 * From the post of a message to each of a thousand readers of the stream. It counts from before the post, so the commit is
 * in it, and so is the time that this one process needs to read for all of them: an upper bound.
 */
export default async function events({ scratch, defer }: Bench): Promise<Row[]> {
  const daemon = await startDaemon(join(scratch, 'home'));
  defer(() => daemon.stop());
  await daemon.client.createAgent({ name: 'me', provider: 'external' });
  const socketPath = join(daemon.home, 'daemon.sock');
  const took: number[] = [];
  const medians: number[] = [];
  let begin = 0;
  let waiting = 0;
  let all = () => {};
  for (let n = 0; n < READERS; n += 1) {
    const outgoing = request({ socketPath, path: '/api/events', agent: false });
    defer(() => outgoing.destroy());
    outgoing.on('error', () => {});
    await new Promise<void>((resolve) => {
      outgoing.on('response', (response) => {
        response.on('error', () => {});
        response.once('data', () => {
          resolve();
          response.on('data', (chunk: Buffer) => {
            if (!chunk.includes('message_created')) return;
            took.push(performance.now() - begin);
            waiting -= 1;
            if (waiting === 0) all();
          });
        });
      });
      outgoing.end();
    });
  }
  for (let n = 0; n < POSTS; n += 1) {
    waiting = READERS;
    const seen = new Promise<void>((resolve) => {
      all = resolve;
    });
    begin = performance.now();
    await daemon.client.sendMessage('me', { text: `message ${n}` });
    await seen;
    medians.push(median(took.splice(0)));
  }
  const p50 = median(medians.slice(POSTS / 4));
  return [
    {
      name: `SSE from post to reader, ${READERS} readers, p50`,
      unit: 'ms',
      yardstick: null,
      result: p50,
      goalOf: 'result',
      atMost: 5,
    },
    {
      name: `SSE from post to reader, ${READERS} readers, p99`,
      unit: 'ms',
      yardstick: null,
      result: percentile(medians, 99),
      goalOf: 'result',
    },
  ];
}
