import { type PersonaPrompt, withinScope } from '../core/persona.ts';
import type { RunMessageType } from '../core/run.ts';
import type { AgentRow, RunRow, Tx } from '../store/store.ts';
import type { RunSpans } from './spans.ts';

/** One attempt of one run while it lives. Whatever it writes shows its fence; what it keeps here may die with it. */
export interface Attempt {
  readonly runId: string;
  readonly agentId: string;
  readonly fence: number;
  readonly number: number;
  /** Joined by somebody else's program: open-ended, in no slot, never tried again. */
  readonly external: boolean;
  /** Its scope, as JSON; null is every tool. The agent's, or what its persona says for this run within it. */
  tools: string | null;
  /** What the agent's persona says for this run, once it has been asked. */
  persona: PersonaPrompt | null;
  /** How often each identical call was made so far. */
  readonly calls: Map<string, number>;
  /** Up to which message it has seen each channel; known for good when the turn ends well. */
  readonly shown: Map<string, number>;
  /** Whether a tool was called, of ours or of the provider's own. */
  called: boolean;
  step: number;
  lastType: RunMessageType | null;
  /** Its last call was refused for being one too many: of such a row only the first is recorded. */
  limited: boolean;
  /** Null where nothing is traced. */
  readonly spans: RunSpans | null;
}

export function createAttempt(run: RunRow, agent: AgentRow, step: number, spans: RunSpans | null = null): Attempt {
  return {
    runId: run.id,
    agentId: agent.id,
    fence: run.fence,
    number: run.attempt,
    external: agent.provider === 'external',
    tools: agent.tools,
    persona: null,
    calls: new Map(),
    shown: new Map(),
    called: false,
    step,
    lastType: null,
    limited: false,
    spans,
  };
}

/** From now on the attempt is what the persona says: never more than the agent's scope allows. */
export function takePersona(attempt: Attempt, agent: AgentRow, persona: PersonaPrompt | null): void {
  if (persona === null) return;
  attempt.persona = persona;
  attempt.tools = JSON.stringify(withinScope(persona.tools, agent.tools));
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
export function stepOf({ step, lastType }: Attempt, type: RunMessageType): number {
  const begins = lastType === null || (lastType === 'tool_return_message' && type !== lastType);
  return begins ? step + 1 : step;
}

/** Adds to the record of the run. */
export async function record(tx: Tx, attempt: Attempt, entry: Entry, now: number): Promise<void> {
  attempt.step = stepOf(attempt, entry.type);
  attempt.spans?.step(attempt.step);
  if (entry.type === 'tool_return_message') attempt.spans?.hadResult();
  attempt.lastType = entry.type;
  if (entry.type === 'tool_call_message') attempt.called = true;
  await tx.insertRecord({
    run_id: attempt.runId,
    step: attempt.step,
    attempt: attempt.number,
    type: entry.type,
    tool: entry.tool ?? null,
    call_id: entry.callId ?? null,
    call_key: entry.callKey ?? null,
    content: JSON.stringify(entry.content),
    is_error: entry.isError ? 1 : 0,
    effect: entry.effect ? 1 : 0,
    created_at: now,
  });
}
