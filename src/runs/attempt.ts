import type { Agent } from '../core/agent.ts';
import type { Attempt } from '../core/attempt.ts';
import { type PersonaPrompt, withinScope } from '../core/persona.ts';
import { LoopWatch } from '../core/progress.ts';
import { EXTERNAL } from '../core/provider-names.ts';
import type { PromptPart, Run, RunMessageType } from '../core/run.ts';
import { narrow, type Scope } from '../core/scope.ts';
import { sessionKeyOf } from '../core/session.ts';
import type { Admitted, Exhausted } from './budgets.ts';
import type { RunSpans } from './spans.ts';
import type { Tx } from './tx.ts';
import { UsageCount } from './usage-count.ts';

/** The progress of an attempt's record. */
export interface Progress {
  readonly step: number;
  readonly lastType: RunMessageType | null;
  /** Whether a tool was called, ours or the provider's own. */
  readonly called: boolean;
}

/**
 * An attempt while it is active. What is added to the record is lost with the process and only changes after the commit
 * that it describes: a transaction may fail, or be executed more than once.
 */
export interface ActiveAttempt extends Attempt {
  /** The widest scope it may ever use: the agent's when it started, or the persona's within that. */
  widest: Scope;
  /** The persona's prompt for this run, once it has been resolved. */
  persona: PersonaPrompt | null;
  /** The last message it has seen in each channel; stored when the turn succeeds. */
  readonly shown: Map<string, number>;
  progress: Progress;
  /** The rate limit refused its last call: only the first of consecutive refusals is recorded. */
  limited: boolean;
  /** Its conversation cannot be resumed, so it does not count as one that knows this run. */
  forgets: boolean;
  /** Messages that were given to the running turn and may not have reached its program. */
  readonly untaken: Set<string>;
  /** Writes pending provider events; a tool call is recorded after them. */
  flush: () => Promise<void>;
  /** Whether it draws from budgets, which one is used up, and what looks at them again. */
  budgeted: boolean;
  exhausted: Exhausted | null;
  /** The model requests that were admitted and are not over. */
  readonly admitted: Admitted;
  /** A model request was refused: whatever its program says then, it was stopped. */
  refused: boolean;
  checkBudgets: () => Promise<void>;
  /** Its provider was started. */
  begun: boolean;
  /** The calls of Substrat's tools that are being executed: the tool by call. */
  readonly calling: Map<string, string>;
  readonly loops: LoopWatch;
  /** What it has used so far. */
  readonly usage: UsageCount;
  /** Null if nothing is traced. */
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
): ActiveAttempt {
  return {
    runId: run.id,
    agentId: agent.id,
    treeId: run.treeId,
    fence: run.fence,
    number: run.attempt,
    session: sessionKeyOf(agent),
    external: agent.provider === EXTERNAL,
    widest: scope,
    persona: null,
    shown: new Map(),
    progress: { step, lastType: null, called },
    limited: false,
    forgets: false,
    untaken: new Set(),
    flush: async () => {},
    budgeted: false,
    exhausted: null,
    admitted: { held: { tokens: 0, usd: 0 }, planned: new Map() },
    refused: false,
    checkBudgets: async () => {},
    begun: false,
    calling: new Map(),
    loops: new LoopWatch(),
    usage: new UsageCount(),
    spans,
  };
}

/** Applies the persona to the attempt, always within the agent's scope. */
export function takePersona(attempt: ActiveAttempt, persona: PersonaPrompt | null): void {
  if (persona === null) return;
  attempt.persona = persona;
  attempt.widest = withinScope(persona.tools, attempt.widest);
}

/**
 * What the attempt may list and call now. A narrowed scope, of the agent or an ancestor, applies from the next call;
 * a widened one from the next turn.
 */
export async function scopeNow(tx: Tx, attempt: Pick<ActiveAttempt, 'agentId' | 'widest'>): Promise<Scope> {
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
  readonly sections?: readonly PromptPart[];
}

/** The step of an entry of that type. A step is what the model does between two tool results. */
export function stepOf({ step, lastType }: Progress, type: RunMessageType): number {
  const begins = lastType === null || (lastType === 'tool_return_message' && type !== lastType);
  return begins ? step + 1 : step;
}

/** Appends to the run's record and returns the new progress. Call `advance` with it after the commit. */
export async function record(
  tx: Tx,
  attempt: ActiveAttempt,
  entries: readonly Entry[],
  now: number,
): Promise<Progress> {
  let { progress } = attempt;
  const { inputTokens, outputTokens, costUsd } = attempt.usage.sum();
  const used = attempt.usage.isEmpty ? {} : { inputTokens, outputTokens, costUsd };
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
      ...(entry.sections && { sections: entry.sections }),
      ...used,
    });
  }
  return progress;
}

/** The recorded entries are committed. Concurrent calls may have advanced further. */
export function advance(attempt: ActiveAttempt, recorded: Progress | null): void {
  if (!recorded) return;
  const { step, lastType, called } = recorded;
  const { progress, spans } = attempt;
  attempt.progress = { step: Math.max(progress.step, step), lastType, called: progress.called || called };
  spans?.step(attempt.progress.step);
  if (lastType === 'tool_return_message') spans?.hadResult();
}
