import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startDaemon } from './daemon.ts';
import { startProgram } from './load.ts';
import type { Bench, Row } from './measure.ts';

const READERS = 1000;
const POSTS = 2000;
const AT_ONCE = 16;

interface Count {
  readonly seconds: number;
  readonly frames: number;
  /** Readers that missed an event, got one twice, or got two in the wrong order. */
  readonly wrong: number;
}

/**
 * A thousand readers, two thousand posts: every reader gets every event once, in order, and the daemon hardly grows.
 */
export default async function fanOut({ scratch, defer }: Bench): Promise<Row[]> {
  const daemon = await startDaemon(join(scratch, 'home'));
  defer(() => daemon.stop());
  await daemon.client.createChannel({ id: 'general' });
  const readers = await startProgram('counting-readers.ts', [
    join(daemon.home, 'daemon.sock'),
    String(READERS),
    String(POSTS),
  ]);
  defer(() => readers.kill());
  const before = megabytes(daemon.pid);
  const counted = once(readers, 'message') as Promise<[Count]>;
  const texts = Array.from({ length: POSTS }, (_, n) => `message ${n}`);
  const post = async (): Promise<void> => {
    for (let text = texts.pop(); text !== undefined; text = texts.pop()) {
      await daemon.client.postMessage('general', { text });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, post));
  const [{ seconds, frames, wrong }] = await counted;
  const row = { yardstick: null, goalOf: 'result' as const };
  return [
    { ...row, name: `SSE fan-out, ${READERS} readers, ${POSTS} posts`, unit: 'events/s', result: frames / seconds },
    { ...row, name: 'SSE fan-out, readers that missed, doubled or mixed up one', unit: '', result: wrong, atMost: 0 },
    {
      ...row,
      name: 'SSE fan-out, growth of the daemon',
      unit: 'MB',
      result: megabytes(daemon.pid) - before,
      atMost: 50,
    },
  ];
}

function megabytes(pid: number): number {
  const [, kilobytes] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) / 1024;
}
