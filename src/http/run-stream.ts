import { turnOfOthers } from '../core/turn-of-others.ts';
import type { AttemptUsage } from '../core/usage.ts';
import type { Store } from '../store/store.ts';
import { showRunMessage, showSteps } from './shown.ts';

/** Messages read and written at a time: each may have a million characters. */
const BATCH = 10;

/** Streams a run with all its messages and steps as JSON, because it can be too large to hold in memory. */
export function streamRun(
  store: Store,
  run: { readonly id: string },
  used: readonly AttemptUsage[],
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const noted: Parameters<typeof showSteps>[0][number][] = [];
  let after: number | null = null;
  return new ReadableStream(
    {
      start: (stream) => stream.enqueue(encoder.encode(`${JSON.stringify(run).slice(0, -1)},"messages":[`)),
      pull: async (stream) => {
        const last = after ?? -1;
        const records = await store.read((tx) =>
          tx.records.listRecordsAfter({ runId: run.id, after: last, limit: BATCH }),
        );
        const messages = records.map((record) => JSON.stringify(showRunMessage(record))).join(',');
        if (messages !== '') stream.enqueue(encoder.encode(after === null ? messages : `,${messages}`));
        noted.push(...records.map((record) => ({ ...record, content: '' })));
        after = records.at(-1)?.n ?? after;
        if (records.length === BATCH) return turnOfOthers();
        stream.enqueue(encoder.encode(`],"steps":${JSON.stringify(showSteps(noted, used))}}`));
        stream.close();
      },
    },
    { highWaterMark: 1 },
  );
}
