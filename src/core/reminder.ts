import type { AgentId, MessageId, ParticipantId } from './ids.ts';

/** The kind of a reminder's timer; the timer's key is the id of the reminder. */
export const REMINDER = 'reminder';

/** What an agent wants to be reminded of. */
export interface Reminder {
  readonly id: string;
  readonly agentId: AgentId;
  readonly reason: string;
  /** Null: once. */
  readonly everyMs: number | null;
  /** Of the run that set it: reminders of reminders reach the limit of chains. */
  readonly chainDepth: number;
  readonly payerId: ParticipantId | null;
  /** It was set for a time from then on, not for a time of the wall clock. */
  readonly relative: boolean;
  /** The last notice about it. */
  readonly messageId: MessageId | null;
  /** The time that it last fired for. */
  readonly lastDue: number | null;
  readonly createdAt: number;
}
