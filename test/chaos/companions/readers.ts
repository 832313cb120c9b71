import { setTimeout as sleep } from 'node:timers/promises';
import { unlessDead } from '../patience.ts';
import { queryStore } from '../query-store.ts';
import type { CreateCompanion } from './companion.ts';

const READERS = 2;

/** Readers of the event stream that resume after every death: each event once, in order, without a gap. */
export const createReaders: CreateCompanion = (daemon) => {
  const seen = Array.from({ length: READERS }, (): number[] => []);
  const stopping = new AbortController();
  let reading: Promise<unknown> = Promise.resolve();
  const last = () =>
    queryStore<{ seq: number }>(daemon.home, 'select coalesce(max(seq), 0) seq from events')[0]?.seq ?? 0;

  const read = async (numbers: number[]): Promise<void> => {
    while (!stopping.signal.aborted) {
      await unlessDead(async () => {
        const after = numbers.at(-1) ?? 0;
        for await (const { seq } of daemon.client.followEvents({ after, signal: stopping.signal })) numbers.push(seq);
      });
      await sleep(10);
    }
  };

  return {
    async work() {
      reading = Promise.all(seen.map(read));
      reading.catch(() => {}); // `settle` throws it
    },
    async settle() {
      while (seen.some((numbers) => (numbers.at(-1) ?? 0) < last())) {
        daemon.checkHealth();
        await Promise.race([sleep(20), reading]);
      }
      stopping.abort();
      await reading;
    },
    async faults() {
      return seen.flatMap((numbers, reader) => {
        const wrong = numbers.findIndex((seq, n) => seq !== n + 1);
        return wrong === -1 ? [] : [`reader ${reader} saw event ${numbers[wrong]} in the place of ${wrong + 1}`];
      });
    },
  };
};
