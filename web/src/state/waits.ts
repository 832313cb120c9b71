import { signal } from '@preact/signals';
import { allPages, type OpenRequest, type SubstratEvent } from '../../../src/client/browser.ts';
import { onEvent, onReread } from './live.ts';
import { api, isOwner } from './session.ts';

/** The open requests of each who waits, by handle, oldest first. Only the owner sees them. */
export const waits = signal<ReadonlyMap<string, readonly OpenRequest[]>>(new Map());

const REREAD_MS = 500;
let timer: ReturnType<typeof setTimeout> | undefined;

export function startWaits(): () => void {
  const stops = [onReread(() => void read().catch(() => {})), onEvent(take)];
  return () => {
    for (const stop of stops) stop();
  };
}

async function read(): Promise<void> {
  if (!isOwner.peek()) return;
  const found: OpenRequest[] = [];
  for await (const request of allPages((query) => api.listRequests(query))) found.push(request);
  waits.value = Map.groupBy(found, ({ from }) => from);
}

/** A request begins and ends with a message, or with its agent. */
function take(event: SubstratEvent): void {
  const concerns =
    event.type === 'message_created'
      ? event.data.message.request !== null || event.data.message.inReplyTo !== null
      : event.type === 'message_deleted' || event.type === 'agent_terminated' || event.type === 'question_settled';
  if (!concerns || timer !== undefined || !isOwner.peek()) return;
  timer = setTimeout(() => {
    timer = undefined;
    void read().catch(() => {});
  }, REREAD_MS);
}
