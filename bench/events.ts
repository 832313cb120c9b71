import { once } from 'node:events';
import { join } from 'node:path';
import { startDaemon } from './daemon.ts';
import { startProgram } from './load.ts';
import { type Bench, median, percentile, type Row } from './measure.ts';

const READERS = 1000;
const WARM_UP = 20;
const POSTS = 60;

/**
 * From an event to each of a thousand readers. Measured from the event's time, which is taken before the commit and
 * truncated to a millisecond, until the last reader's process has its bytes: both make it longer.
 */
export default async function events({ scratch, defer }: Bench): Promise<Row[]> {
  const daemon = await startDaemon(join(scratch, 'home'));
  defer(() => daemon.stop());
  await daemon.client.createAgent({ name: 'me', provider: 'external' });
  const readers = await startProgram('readers.ts', [join(daemon.home, 'daemon.sock'), String(READERS)]);
  defer(() => readers.kill());
  const took: number[][] = [];
  for (let n = 0; n < WARM_UP + POSTS; n += 1) {
    const seen = once(readers, 'message');
    await daemon.client.sendMessage('me', { text: `message ${n}` });
    const [came] = (await seen) as [number[]];
    if (n >= WARM_UP) took.push(came);
  }
  const row = (percent: number) => ({
    name: `SSE from commit to reader, ${READERS} readers, p${percent}`,
    unit: 'ms',
    yardstick: null,
    result: median(took.map((came) => percentile(came, percent))),
    goalOf: 'result' as const,
  });
  return [{ ...row(50), atMost: 5 }, row(99)];
}
