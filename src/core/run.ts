import type { FailureKind } from './failure.ts';
import type { AgentId, BudgetId, MessageId, NodeId, ParticipantId, RunId } from './ids.ts';
import type { ProgressState } from './progress.ts';
import type { Tokens, UsageGrade } from './usage.ts';

export interface Run {
  readonly id: RunId;
  readonly seq: number;
  readonly agentId: AgentId;
  readonly treeId: AgentId;
  readonly nodeId: NodeId;
  readonly state: RunState;
  readonly attempt: number;
  /** Failed attempts that counted. */
  readonly failures: number;
  /** Incremented whenever a claim ends. Writes with an older fence are refused. */
  readonly fence: number;
  /** The request that it answers. */
  readonly serves: MessageId | null;
  readonly triggerId: MessageId | null;
  readonly chainDepth: number;
  /** The person whose allowance it counts against; null if it counts against the tree's. */
  readonly payerId: ParticipantId | null;
  readonly stopReason: StopReason | null;
  readonly error: string | null;
  readonly finalText: string | null;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costUsd: number;
  /** How certain these numbers are; null if there are none. */
  readonly usageGrade: UsageGrade | null;
  readonly notBefore: number;
  /** The budget that it waits for, and when it looks again at the latest. */
  readonly budgetId: BudgetId | null;
  readonly budgetUntil: number | null;
  /** When its last attempt failed. */
  readonly failedAt: number | null;
  /** The attempts that failed and were followed by another one; null if there are none. */
  readonly failedAttempts: readonly FailedAttempt[] | null;
  /** How often its agent's parent had it tried again after it had failed. */
  readonly pokes: number;
  readonly leaseUntil: number | null;
  readonly pid: number | null;
  readonly pidStarted: string | null;
  /** Whether its attempt in progress makes progress; null while it works (`core/progress.ts`). */
  readonly progress: Exclude<ProgressState, 'working'> | null;
  readonly progressReason: string | null;
  readonly progressSince: number | null;
  /** The attempt whose missing progress was reported to the person. */
  readonly toldAttempt: number | null;
  /** Until then the person does not want to be told. */
  readonly patientUntil: number | null;
  /** How often the daemon died during it: consecutively without progress, and since the machine booted. */
  readonly deaths: number;
  readonly deathsEver: number;
  /** The highest number of records that an attempt had made when the daemon died. */
  readonly recordsAtDeath: number;
  /** The machine boot during which it was last claimed. */
  readonly boot: string | null;
  /** The incarnation of the node that last claimed it. */
  readonly incarnation: string | null;
  readonly createdAt: number;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
}

/** Why an attempt failed, and when the next one could start. */
export interface FailedAttempt {
  readonly attempt: number;
  readonly kind: FailureKind;
  readonly error: string;
  readonly at: number;
  readonly notBefore: number;
}

const MOST_FAILED_ATTEMPTS = 20;
const LONGEST_ERROR = 1000;

/** Adds one; of many, the last are kept. */
export function addFailedAttempt(run: Pick<Run, 'failedAttempts'>, failed: FailedAttempt): FailedAttempt[] {
  const error = failed.error.slice(0, LONGEST_ERROR);
  return [...(run.failedAttempts ?? []), { ...failed, error }].slice(-MOST_FAILED_ATTEMPTS);
}

/** What a running attempt shows of its progress; null while it works. */
export interface RunProgress {
  readonly id: RunId;
  readonly progress: Run['progress'];
  readonly reason: string | null;
  readonly since: number | null;
  readonly toldAttempt: number | null;
}

export interface Usage {
  readonly runs: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costUsd: number;
}

/** One entry of what a run did. */
export interface RunRecord {
  readonly runId: RunId;
  readonly n: number;
  readonly step: number;
  readonly attempt: number;
  readonly type: RunMessageType;
  readonly tool: string | null;
  readonly callId: string | null;
  /** Hash of the tool and the canonical arguments: equal keys mean identical calls. */
  readonly callKey: string | null;
  readonly content: unknown;
  readonly isError: boolean;
  /** A successful call with a side effect: a repeated attempt gets its recorded result. */
  readonly effect: boolean;
  readonly createdAt: number;
  /** Of a prompt: its sections in order, separated by empty lines. */
  readonly sections: readonly PromptPart[] | null;
  /** What the attempt had used when this was recorded; null if nothing was counted. */
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  readonly costUsd: number | null;
}

/** The name of a section, and its number of characters. */
export interface PromptPart {
  readonly name: string;
  readonly length: number;
}

/** What is inserted; the store numbers it. */
export type NewRunRecord = Omit<RunRecord, 'n' | 'sections' | keyof Tokens> &
  Partial<Pick<RunRecord, 'sections' | keyof Tokens>>;

/** created → running → completed | failed | cancelled. A failed attempt that is retried goes back to created. */
export type RunState = 'created' | 'running' | 'completed' | 'failed' | 'cancelled';

/** `set_aside`: the daemon died too often during it. */
export type StopReason = 'end_turn' | 'error' | 'cancelled' | 'timeout' | 'max_steps' | 'no_tool_call' | 'set_aside';

export type RunMessageType =
  | 'system_message'
  | 'user_message'
  | 'assistant_message'
  | 'tool_call_message'
  | 'tool_return_message';

/** The day of a time, as the number of days since 1970 in UTC. */
export function dayOf(at: number): number {
  return Math.floor(at / 86_400_000);
}

/** How a carried message is presented to the agent that receives it. */
export type CarriedKind = 'request' | 'reply' | 'error' | 'late' | 'news' | 'notice' | 'context';

/** A message as a run carries it into the prompt. */
export interface CarriedMessage {
  readonly id: string;
  /** The author's name as the recipient knows it. */
  readonly from: string;
  readonly channelId: string;
  readonly text: string;
  readonly kind: CarriedKind;
  /** For replies: the id of the message that is answered. */
  readonly inReplyTo?: string;
  /** The channel, if it was posted to one. */
  readonly channel?: string;
  readonly attachments?: readonly CarriedAttachment[];
  /** What it claims, and what checks found, a line each. */
  readonly evidence?: readonly string[];
  /** For a broadcast: whether the final text of the turn is sent back. */
  readonly broadcast?: 'answered' | 'heard';
}

/** A file of a carried message, as the agent finds it. */
export interface CarriedAttachment {
  /** Relative to the workspace. */
  readonly path: string;
  readonly mediaType: string;
  readonly size: number;
  readonly hash: string;
}

/** One thing that an earlier, failed attempt of the same run had already done. */
export type JournalEntry =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'call'; readonly tool: string; readonly arguments: unknown; readonly result: unknown };
