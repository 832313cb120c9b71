import { computed, signal } from '@preact/signals';
import { allPages, type Participant, type SubstratEvent } from '../../../src/client/browser.ts';
import { onEvent, onReread } from './live.ts';
import { api } from './session.ts';

/** Everybody whom one sees, by handle. */
const people = signal<ReadonlyMap<string, Participant>>(new Map());
export const handlesKnown = computed(() => new Set(people.value.keys()));
export const peopleKnown = computed(() => [...people.value.keys()].filter((handle) => isPerson(handle)));

export function startPeople(): () => void {
  const stops = [onReread(() => void readAll()), onEvent(take)];
  return () => {
    for (const stop of stops) stop();
  };
}

export function isPerson(handle: string): boolean {
  return people.value.get(handle)?.kind === 'person' || handle === 'user';
}

async function readAll(): Promise<void> {
  const found = new Map<string, Participant>();
  for await (const one of allPages((query) => api.listParticipants(query))) found.set(one.handle, one);
  people.value = found;
}

function take(event: SubstratEvent): void {
  const isNew =
    event.type === 'agent_created' ||
    event.type === 'member_joined' ||
    (event.type === 'message_created' && !people.peek().has(event.data.message.from));
  if (isNew) void readAll();
}
