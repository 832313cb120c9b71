import { computed, signal } from '@preact/signals';
import { type Agent, allPages, type Message, type Run, type SubstratEvent } from '../../../src/client/browser.ts';
import { agentById, agentOrder } from './agents.ts';
import { now } from './clock.ts';
import { onEvent, onReread } from './live.ts';
import { api, isOwner, me } from './session.ts';
import { remembered } from './storage.ts';

interface Base {
  readonly id: string;
  /** The handle of the agent that waits. */
  readonly who: string;
  readonly since: number;
  /** Somebody cannot go on. */
  readonly blocks: boolean;
}

/** Something that waits for this person. */
export type Need = Base &
  (
    | { readonly kind: 'question'; readonly channelId: string; readonly message: Message }
    | { readonly kind: 'failed-run'; readonly run: Run }
    | { readonly kind: 'paused' | 'parked'; readonly agent: Agent }
  );

const FAILED_SINCE_MS = 24 * 60 * 60_000;
const REREAD_MS = 200;
const stored = remembered('snoozed');
const questions = signal<readonly Need[]>([]);
const failures = signal<readonly Need[]>([]);
/** Until when each is put off. */
const snoozed = signal<Readonly<Record<string, number>>>(readSnoozed());
let timer: ReturnType<typeof setTimeout> | undefined;

/** Everything that waits, put off or not: what blocks someone first, then the oldest. */
const all = computed(() => {
  const held = agentOrder.value.flatMap(({ id }) => heldUp(agentById(id)));
  return [...questions.value, ...failures.value, ...held].sort(
    (a, b) => Number(b.blocks) - Number(a.blocks) || a.since - b.since,
  );
});
const minute = computed(() => Math.floor(now.value / 60_000));
const isPutOff = (need: Need): boolean => (snoozed.value[need.id] ?? 0) > minute.value * 60_000;
export const needs = computed(() => all.value.filter((need) => !isPutOff(need)));
/** Since when each agent waits for the reader's answer. */
export const asked = computed(() => new Map(questions.value.map(({ who, since }) => [who, since])));
export const putOff = computed(() => all.value.filter(isPutOff));

export function startNeeds(): () => void {
  const stops = [onReread(() => void read().catch(() => {})), onEvent(take)];
  return () => {
    for (const stop of stops) stop();
  };
}

export function snooze(id: string, ms: number): void {
  snoozed.value = { ...snoozed.value, [id]: Date.now() + ms };
  stored.set(JSON.stringify(snoozed.value));
}

async function read(): Promise<void> {
  const found: Need[] = [];
  for await (const message of allPages((query) => api.listInbox({ ...query, open: true }))) {
    const { messageId: id, from: who, channelId } = message;
    found.push({ kind: 'question', id, who, since: Date.parse(message.createdAt), blocks: true, channelId, message });
  }
  questions.value = found;
  if (isOwner.peek()) failures.value = await readFailed();
}

/** Failed runs of the last day whose agent has not had another one since. */
async function readFailed(): Promise<Need[]> {
  const { items } = await api.listRuns({ state: 'failed', limit: 50 });
  const newest = new Map<string, Run>();
  for (const run of items) if (!newest.has(run.agentId)) newest.set(run.agentId, run);
  const since = Date.now() - FAILED_SINCE_MS;
  const recent = [...newest.values()].filter(({ endedAt }) => Date.parse(endedAt ?? '') > since);
  const still = await Promise.all(
    recent.map(async (run) => {
      const last = await api.listRuns({ agent: run.agentId, limit: 1 });
      return last.items[0]?.id === run.id ? [run] : [];
    }),
  );
  return still.flat().map((run) => {
    const ended = Date.parse(run.endedAt ?? run.createdAt);
    return { kind: 'failed-run', id: run.id, who: run.agent, since: ended, blocks: run.serves !== null, run };
  });
}

function heldUp(agent: Agent | null): Need[] {
  const { status } = agent ?? {};
  if (!agent || !status || status.kind === 'queued') return [];
  const kind = status.kind === 'paused' ? 'paused' : 'parked';
  const since = Date.parse(status.since ?? '') || Date.now();
  return [{ kind, id: `${kind}-${agent.id}`, who: agent.handle, since, blocks: kind === 'paused', agent }];
}

/** Whether an event may add a need or end one. */
function concerns(event: SubstratEvent): boolean {
  if (event.type === 'message_created') {
    const { message, to } = event.data;
    return message.request !== null ? to.includes(me.peek()) : message.from === me.peek() && message.inReplyTo !== null;
  }
  if (event.type === 'run_ended') return event.data.state === 'failed' || questions.peek().length > 0;
  const isOld = (id: string | undefined): boolean =>
    [...questions.peek(), ...failures.peek()].some((need) => need.who === id);
  if (event.type === 'run_started' || event.type === 'agent_terminated') return isOld(event.data.agent);
  return event.type === 'message_deleted' && questions.peek().some(({ id }) => id === event.data.messageId);
}

function take(event: SubstratEvent): void {
  if (!concerns(event)) return;
  if (timer !== undefined) return;
  timer = setTimeout(() => {
    timer = undefined;
    void read().catch(() => {});
  }, REREAD_MS);
}

function readSnoozed(): Record<string, number> {
  try {
    const found: unknown = JSON.parse(stored.get() ?? '{}');
    const entries = typeof found === 'object' && found !== null ? Object.entries(found) : [];
    return Object.fromEntries(entries.filter((entry): entry is [string, number] => entry[1] > Date.now()));
  } catch {
    return {};
  }
}
