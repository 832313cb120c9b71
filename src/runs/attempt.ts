import type { RunMessageType } from '../core/run.ts';
import type { AgentRow, RunRow, Tx } from '../store/store.ts';

/** One attempt of one run while it lives. Whatever it writes shows its fence; what it keeps here may die with it. */
export interface Attempt {
  readonly runId: string;
  readonly agentId: string;
  readonly fence: number;
  readonly number: number;
  /** Joined by somebody else's program: open-ended, in no slot, never tried again. */
  readonly external: boolean;
  /** The agent's scope, as JSON; null is every tool. */
  readonly tools: string | null;
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
}

export function createAttempt(run: RunRow, agent: AgentRow, step: number): Attempt {
  return {
    runId: run.id,
    agentId: agent.id,
    fence: run.fence,
    number: run.attempt,
    external: agent.provider === 'external',
    tools: agent.tools,
    calls: new Map(),
    shown: new Map(),
    called: false,
    step,
    lastType: null,
    limited: false,
  };
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

/** Adds to the record of the run. A step is what the model does between two looks at tool results. */
export async function record(tx: Tx, attempt: Attempt, entry: Entry, now: number): Promise<void> {
  const begins =
    attempt.lastType === null || (attempt.lastType === 'tool_return_message' && entry.type !== attempt.lastType);
  if (begins) attempt.step += 1;
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
