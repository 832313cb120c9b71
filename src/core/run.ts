/** created → running → completed | failed | cancelled; a broken attempt goes back to created. */
export type RunState = 'created' | 'running' | 'completed' | 'failed' | 'cancelled';

export type StopReason = 'end_turn' | 'error' | 'cancelled' | 'timeout' | 'max_steps' | 'no_tool_call';

export type RunMessageType =
  | 'system_message'
  | 'user_message'
  | 'assistant_message'
  | 'tool_call_message'
  | 'tool_return_message';

/** The day of a time, as its number since 1970 in UTC. */
export function dayOf(at: number): number {
  return Math.floor(at / 86_400_000);
}

/** How a carried message presents itself to the agent that gets it. */
export type CarriedKind = 'request' | 'reply' | 'error' | 'late' | 'news' | 'notice' | 'context';

/** A message as a run carries it into the prompt. */
export interface CarriedMessage {
  readonly id: string;
  /** Name of the author as its recipient knows it. */
  readonly from: string;
  readonly channelId: string;
  readonly text: string;
  readonly kind: CarriedKind;
  /** For replies: the message that is answered. */
  readonly inReplyTo?: string;
  /** Where it was said to everybody: the channel. */
  readonly channel?: string;
  /** A broadcast, and whether the final text of the turn is sent back. */
  readonly broadcast?: 'answered' | 'heard';
}

/** One thing that a broken attempt of the same run had already done. */
export type JournalEntry =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'call'; readonly tool: string; readonly arguments: unknown; readonly result: unknown };
