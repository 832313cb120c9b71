import { computed, signal } from '@preact/signals';
import {
  type Agent,
  allPages,
  type CarriedMessage,
  type Question,
  type Run,
  type SubstratEvent,
} from '../../../src/client/browser.ts';
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
    | {
        readonly kind: 'question';
        readonly channelId: string;
        readonly text: string;
        /** Null for a plain message that expects a reply. */
        readonly question: Question | null;
      }
    | { readonly kind: 'failed-run'; readonly run: Run }
    /** Messages that died with a run that was cancelled, or whose agent has run again since. */
    | { readonly kind: 'dead'; readonly run: Run; readonly messages: readonly CarriedMessage[] }
    /** `stalled`: by the daemon's judgement, its turn shows no sign of life, or repeats itself. */
    | { readonly kind: Held; readonly agent: Agent }
    | { readonly kind: 'limit'; readonly limit: Limit }
  );

/** What holds an agent up. `stopped`: by a budget that cannot be kept. */
type Held = 'paused' | 'parked' | 'stranded' | 'stalled' | 'stopped';

/** A limit of a provider that is used up. */
export interface Limit {
  readonly provider: string;
  readonly account: string | null;
  readonly until: string;
  readonly reason: string;
}

const FAILED_SINCE_MS = 24 * 60 * 60_000;
const REREAD_MS = 200;
/** Providers do not say since when a limit is used up. */
const firstSeen = new Map<string, number>();
const stored = remembered('snoozed');
const questions = signal<readonly Need[]>([]);
const failures = signal<readonly Need[]>([]);
const limits = signal<readonly Need[]>([]);
/** Until when each is put off. */
const snoozed = signal<Readonly<Record<string, number>>>(readSnoozed());
let timer: ReturnType<typeof setTimeout> | undefined;

/** Everything that waits, put off or not: what blocks someone first, then the oldest. */
const all = computed(() => {
  const held = agentOrder.value.flatMap(({ id }) => heldUp(agentById(id)));
  return [...questions.value, ...failures.value, ...limits.value, ...held].sort(
    (a, b) => Number(b.blocks) - Number(a.blocks) || a.since - b.since,
  );
});
const minute = computed(() => Math.floor(now.value / 60_000));
const isPutOff = (need: Need): boolean => (snoozed.value[need.id] ?? 0) > minute.value * 60_000;
export const needs = computed(() => all.value.filter((need) => !isPutOff(need)));
/** Since when each agent waits for the reader's answer. */
export const asked = computed(() => new Map(questions.value.map(({ who, since }) => [who, since])));
/** The runs that failed last, by the handle of their agent. */
export const failed = computed(
  () => new Map(failures.value.flatMap((need) => (need.kind === 'failed-run' ? [[need.who, need.run]] : []))),
);
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

/** Answers a question; a plain message is replied to. A second answer to the same one has no effect. */
export async function answerNeed(need: Need & { kind: 'question' }, words: string): Promise<void> {
  if (need.question) await api.answerQuestion(need.id, words);
  else await api.sendMessage(need.who, { text: words, inReplyTo: need.id }, { idempotencyKey: `answer-${need.id}` });
}

async function read(): Promise<void> {
  const found: Need[] = [];
  for await (const question of allPages((query) => api.listQuestions(query))) {
    const { id, agent: who, channelId, subject: text, blocking: blocks } = question;
    found.push({ kind: 'question', id, who, since: Date.parse(question.createdAt), blocks, channelId, text, question });
  }
  const asked = new Set(found.map(({ id }) => id));
  for await (const message of allPages((query) => api.listInbox({ ...query, open: true }))) {
    const { messageId: id, from: who, channelId, text } = message;
    if (asked.has(id)) continue;
    const since = Date.parse(message.createdAt);
    found.push({ kind: 'question', id, who, since, blocks: true, channelId, text, question: null });
  }
  questions.value = found;
  if (!isOwner.peek()) return;
  [failures.value, limits.value] = await Promise.all([readFailed(), readLimits()]);
}

/** Limits of providers that are used up, and when they end. */
async function readLimits(): Promise<Need[]> {
  const { items } = await api.listProviders();
  return items.flatMap(({ name: provider, limits: used }) =>
    used
      // A limit of one agent is shown as its parking.
      .filter(({ agent }) => agent === null)
      .map(({ account, until, reason }): Need => {
        const id = `limit-${provider}-${account ?? ''}-${until}`;
        const since = firstSeen.get(id) ?? Date.now();
        firstSeen.set(id, since);
        return { kind: 'limit', id, who: provider, since, blocks: false, limit: { provider, account, until, reason } };
      }),
  );
}

/** Failed runs of the last day whose agent has not had another one since. */
async function readFailed(): Promise<Need[]> {
  const { items } = await api.listRuns({ state: 'failed', limit: 50 });
  const newest = new Map<string, Run>();
  for (const run of items) if (!newest.has(run.agentId)) newest.set(run.agentId, run);
  const since = Date.now() - FAILED_SINCE_MS;
  const recent = [...newest.values()].filter(({ endedAt }) => Date.parse(endedAt ?? '') > since);
  const found = await Promise.all(
    recent.map(async (run): Promise<Need[]> => {
      const [last, carried] = await Promise.all([
        api.listRuns({ agent: run.agentId, limit: 1 }),
        api.listCarried(run.id),
      ]);
      const base = { who: run.agent, since: Date.parse(run.endedAt ?? run.createdAt), run };
      // A request is answered with an error; what expects no answer would be lost without a word.
      const messages = carried.items.filter(({ state, request }) => state === 'dead' && request === null);
      const dead: Need[] =
        messages.length > 0 ? [{ kind: 'dead', id: `dead-${run.id}`, blocks: false, messages, ...base }] : [];
      if (last.items[0]?.id !== run.id) return dead;
      return [{ kind: 'failed-run', id: run.id, blocks: run.serves !== null, ...base }, ...dead];
    }),
  );
  return found.flat();
}

/** What holds an agent up, as a need. A quiet turn is not one yet. */
const HELD: Readonly<Partial<Record<string, Held>>> = {
  paused: 'paused',
  stranded: 'stranded',
  resting: 'parked',
  parked: 'parked',
  stalled: 'stalled',
  looping: 'stalled',
  stopped: 'stopped',
};
/** The owner is asked about a budget that is used up; that question is the need. */
const ASKED_ABOUT = / is used up\b/;

function heldUp(agent: Agent | null): Need[] {
  const { status } = agent ?? {};
  const kind = HELD[status?.kind ?? ''];
  if (!agent || !status || !kind) return [];
  if (kind === 'stopped' && ASKED_ABOUT.test(status.reason ?? '')) return [];
  const since = Date.parse(status.since ?? '') || Date.now();
  return [{ kind, id: `${kind}-${agent.id}`, who: agent.handle, since, blocks: kind !== 'parked', agent }];
}

/** Whether an event may add a need or end one. */
function concerns(event: SubstratEvent): boolean {
  if (event.type === 'message_created') {
    const { message, to } = event.data;
    return message.request !== null ? to.includes(me.peek()) : message.from === me.peek() && message.inReplyTo !== null;
  }
  if (event.type === 'question_asked' || event.type === 'question_settled') return true;
  if (event.type === 'run_ended') return event.data.state === 'failed' || questions.peek().length > 0;
  if (event.type === 'run_retried') return true;
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
