import { signal } from '@preact/signals';
import type { SubstratEvent } from '../../../src/client/browser.ts';
import { onEvent } from './live.ts';

/** Since when the page counts. */
export const talksSince = Date.now();

/** How many messages each sent to each, as far as the page heard them: "from to" by handles. */
export const talks = signal<ReadonlyMap<string, number>>(new Map());

export function startTalks(): () => void {
  const stop = onEvent(take);
  return () => {
    stop();
    talks.value = new Map();
  };
}

function take(event: SubstratEvent): void {
  if (event.type !== 'message_created') return;
  const next = new Map(talks.peek());
  for (const to of event.data.to) {
    const key = `${event.data.message.from} ${to}`;
    next.set(key, (next.get(key) ?? 0) + 1);
  }
  talks.value = next;
}
