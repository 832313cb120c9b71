import type { Agent } from '../core/agent.ts';
import { type PersonaPrompt, withinScope } from '../core/persona.ts';
import type { Run, RunMessageType } from '../core/run.ts';
import { narrow, type Scope } from '../core/scope.ts';
import type { Tx } from '../store/store.ts';
import type { RunSpans } from './spans.ts';

/** How far the record of an attempt has come. */
export interface Progress {
  readonly step: number;
  readonly lastType: RunMessageType | null;
  /** Whether a tool was called, of ours or of the provider's own. */
  readonly called: boolean;
}

/**
 * One attempt of one run while it lives. Every write of it checks its fence. What is kept here is lost with the process, and
 * changes only after the commit of what it describes: a transaction may fail, or be executed more than once.
 */
export interface Attempt {
  readonly runId: string;
  readonly agentId: string;
  readonly fence: number;
  readonly number: number;
  /** Joined by somebody else's program: open-ended, in no slot, never tried again. */
  readonly external: boolean;
  /** The most that it may ever use: what held for the agent when it began, or what its persona says within that. */
  widest: Scope;
  /** What the agent's persona says for this run, once it has been asked. */
  persona: PersonaPrompt | null;
  /** Up to which message it has seen each channel; known for good when the turn ends well. */
  readonly shown: Map<string, number>;
  progress: Progress;
  /** The rate limit refused its last call: of such calls in a row only the first is recorded. */
  limited: boolean;
  /** Writes what the provider told and is not recorded yet; a call of a tool comes after it. */
  flush: () => Promise<void>;
  /** Null where nothing is traced. */
  readonly spans: RunSpans | null;
}

export function createAttempt(
  run: Run,
  agent: Agent,
  {
    step = 0,
    called = false,
    spans = null,
    scope = agent.tools,
  }: { step?: number; called?: boolean; spans?: RunSpans | null; scope?: Scope } = {},
): Attempt {
  return {
    runId: run.id,
    agentId: agent.id,
    fence: run.fence,
    number: run.attempt,
    external: agent.provider === 'external',
    widest: scope,
    persona: null,
    shown: new Map(),
    progress: { step, lastType: null, called },
    limited: false,
    flush: async () => {},
    spans,
  };
}

/** From now on the attempt is what the persona says: never more than the agent's scope allows. */
export function takePersona(attempt: Attempt, persona: PersonaPrompt | null): void {
  if (persona === null) return;
  attempt.persona = persona;
  attempt.widest = withinScope(persona.tools, attempt.widest);
}

/**
 * What the attempt may list and call now. A scope that becomes narrower, the agent's or that of an ancestor, holds from the
 * next call; one that becomes wider, from the next turn.
 */
export async function scopeNow(tx: Tx, attempt: Pick<Attempt, 'agentId' | 'widest'>): Promise<Scope> {
  return narrow(attempt.widest, await tx.agents.getScope({ id: attempt.agentId }));
}

export interface Entry {
  readonly type: RunMessageType;
  readonly content: unknown;
  readonly tool?: string;
  readonly callId?: string;
  readonly callKey?: string;
  readonly isError?: boolean;
  readonly effect?: boolean;
}

/** In which step an entry of that type would be. A step is what the model does between two looks at tool results. */
export function stepOf({ step, lastType }: Progress, type: RunMessageType): number {
  const begins = lastType === null || (lastType === 'tool_return_message' && type !== lastType);
  return begins ? step + 1 : step;
}

/** Adds to the record of the run, and returns how far it has come. `advance` takes that over after the commit. */
export async function record(tx: Tx, attempt: Attempt, entries: readonly Entry[], now: number): Promise<Progress> {
  let { progress } = attempt;
  for (const entry of entries) {
    progress = {
      step: stepOf(progress, entry.type),
      lastType: entry.type,
      called: progress.called || entry.type === 'tool_call_message',
    };
    await tx.records.insertRecord({
      runId: attempt.runId,
      step: progress.step,
      attempt: attempt.number,
      type: entry.type,
      tool: entry.tool ?? null,
      callId: entry.callId ?? null,
      callKey: entry.callKey ?? null,
      content: entry.content,
      isError: entry.isError ?? false,
      effect: entry.effect ?? false,
      createdAt: now,
    });
  }
  return progress;
}

/** What was recorded, if anything, is committed. Calls under way at the same time may have come further meanwhile. */
export function advance(attempt: Attempt, recorded: Progress | null): void {
  if (!recorded) return;
  const { step, lastType, called } = recorded;
  const { progress, spans } = attempt;
  attempt.progress = { step: Math.max(progress.step, step), lastType, called: progress.called || called };
  spans?.step(attempt.progress.step);
  if (lastType === 'tool_return_message') spans?.hadResult();
}
