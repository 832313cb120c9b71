import { type Signal, signal } from '@preact/signals';
import type { LiveEvent, SubstratEvent } from '../../../src/client/browser.ts';
import { onEvent, onLive, onReread } from './live.ts';
import { api, isOwner } from './session.ts';

/** A run that runs now. Its text changes often, its step sometimes: each has a signal of its own. */
export interface Turn {
  readonly runId: string;
  readonly agentId: string;
  readonly agent: string;
  /** Where the message that started it was said. */
  readonly channelId: string | null;
  /** What it wrote in this attempt, or the end of it. */
  readonly text: Signal<string>;
  readonly step: Signal<Step>;
}

export interface Step {
  readonly attempt: number;
  /** Calls of this attempt; null if it began before the page looked. */
  readonly calls: number | null;
  readonly call: {
    readonly tool: string;
    readonly args: string;
    readonly since: number;
    readonly state: 'running' | 'done' | 'failed';
  } | null;
}

/** The page keeps this much of a text that is being written; the record has all of it. */
const MOST = 12_000;

/** The runs that run now, oldest first. Only the owner sees any. */
export const turns = signal<readonly Turn[]>([]);

export function startTurns(): () => void {
  const stops = [onReread(() => void readAll().catch(() => {})), onEvent(take), onLive(hear)];
  return () => {
    for (const stop of stops) stop();
    turns.value = [];
  };
}

export function turnOf(agentId: string): Turn | null {
  return turns.value.find((turn) => turn.agentId === agentId) ?? null;
}

/** What runs already when the page opens. Pieces of text that were sent before are not repeated. */
async function readAll(): Promise<void> {
  if (!isOwner.peek()) return;
  const { items } = await api.listRuns({ state: 'running', limit: 100 });
  const read = await Promise.all(
    items.map(async (run) => {
      const known = turns.peek().find(({ runId }) => runId === run.id);
      if (known?.step.peek().attempt === run.attempt) return known;
      const trigger = run.triggerId === null ? null : await api.getMessage(run.triggerId).catch(() => null);
      const turn = { runId: run.id, agentId: run.agentId, agent: run.agent };
      return create(turn, { attempt: run.attempt, calls: null, call: null }, trigger?.channelId ?? null);
    }),
  );
  turns.value = read.reverse();
}

function create(of: Pick<Turn, 'runId' | 'agentId' | 'agent'>, step: Step, channelId: string | null = null): Turn {
  return { ...of, channelId, text: signal(''), step: signal(step) };
}

function take(event: SubstratEvent): void {
  if (!isOwner.peek()) return;
  const without = (id: string): Turn[] => turns.peek().filter(({ runId }) => runId !== id);
  if (event.type === 'run_started') {
    const { runId, agentId, agent, attempt } = event.data;
    turns.value = [...without(runId), create({ runId, agentId, agent }, { attempt, calls: 0, call: null })];
  } else if (event.type === 'agent_typing') {
    const { runId, channelId } = event.data;
    turns.value = turns.peek().map((turn) => (turn.runId === runId ? { ...turn, channelId } : turn));
  } else if (event.type === 'run_ended' || event.type === 'run_retried') {
    turns.value = without(event.data.runId);
  }
}

function hear(event: LiveEvent): void {
  const turn = turns.peek().find(({ runId }) => runId === event.runId);
  if (!turn) return;
  const before = turn.step.peek();
  // A new attempt voids the text of the last one.
  const isNew = before.attempt !== event.attempt;
  const step: Step = isNew ? { attempt: event.attempt, calls: 0, call: null } : before;
  const text = isNew ? '' : turn.text.peek();
  if (event.type === 'live_text') {
    const isSplit = text !== '' && step.call !== null && spoken.get(turn.text) !== step.call.since;
    if (step.call) spoken.set(turn.text, step.call.since);
    turn.text.value = tail(`${text}${isSplit ? '\n\n' : ''}${event.text}`);
    if (isNew) turn.step.value = step;
  } else if (event.type === 'live_tool_call') {
    const call = { tool: event.tool ?? '', args: event.text, since: Date.now(), state: 'running' } as const;
    turn.step.value = { ...step, calls: step.calls === null ? null : step.calls + 1, call };
    if (isNew) turn.text.value = text;
  } else if (step.call) {
    turn.step.value = { ...step, call: { ...step.call, state: event.isError ? 'failed' : 'done' } };
  }
}

/** When the call began after which each turn wrote last: what it writes after the next one is a new paragraph. */
const spoken = new WeakMap<Signal<string>, number>();

function tail(text: string): string {
  if (text.length <= MOST) return text;
  const rest = text.slice(-MOST);
  const at = rest.indexOf('\n');
  return `…${at < 0 ? rest : rest.slice(at)}`;
}
