import type { AgentId, ChannelId, MessageId, ParticipantId, RunId } from './ids.ts';

export type MessageKind = 'message' | 'reply' | 'error' | 'notice';

/** A schedule, a reminder, or the changed state of an agent. */
export type MessageCause = 'schedule' | 'reminder' | 'state';

export interface Message {
  readonly id: MessageId;
  readonly seq: number;
  readonly channelId: ChannelId;
  readonly authorId: ParticipantId;
  readonly runId: RunId | null;
  readonly kind: MessageKind;
  readonly text: string;
  readonly inReplyTo: MessageId | null;
  readonly late: boolean;
  readonly chainDepth: number;
  readonly createdAt: number;
  /** In a DM, the person who receives it. */
  readonly inboxOf: ParticipantId | null;
  /** The message that began the thread; null outside threads. */
  readonly threadId: MessageId | null;
  readonly editedAt: number | null;
  /** A deleted message has no text. */
  readonly deletedAt: number | null;
  /** The `traceparent` of the span that posted it; null when nothing is traced. */
  readonly trace: string | null;
  /** The person whose message started the chain; null for the owner, or if nobody did. */
  readonly payerId: ParticipantId | null;
  /** What sent it, if nobody wrote it at that moment. */
  readonly cause: MessageCause | null;
}

/** What is inserted; the rest follows from it. */
export type NewMessage = Omit<Message, 'seq' | 'inboxOf' | 'editedAt' | 'deletedAt' | 'cause'> &
  Partial<Pick<Message, 'cause'>>;

/** A message that expects one reply. */
export interface Request {
  readonly messageId: MessageId;
  readonly seq: number;
  readonly askerId: ParticipantId;
  readonly recipientId: ParticipantId;
  /** The request that the asking run served. */
  readonly parentId: MessageId | null;
  readonly state: 'open' | 'closed';
  readonly deadlineAt: number | null;
  readonly replyId: MessageId | null;
  readonly closedAt: number | null;
  /** How many open requests to people its answer waits for, and since when: its deadline stands still. */
  readonly waits: number;
  readonly waitsSince: number | null;
}

/** A broadcast whose replies are collected. */
export interface Broadcast {
  readonly messageId: MessageId;
  readonly authorId: AgentId;
  /** Its replies wake nobody, because the chain has reached its maximum depth. */
  readonly quiet: boolean;
  /** When the broadcaster gets the replies that have arrived so far. */
  readonly closesAt: number;
  readonly closedAt: number | null;
}
