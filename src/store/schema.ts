import type { Generated } from 'kysely';
import type { Agent } from '../core/agent.ts';
import type { Attachment } from '../core/attachment.ts';
import type { Channel, Member, Participant } from '../core/channel.ts';
import type { ConversationEntry } from '../core/conversation.ts';
import type { Delivery } from '../core/delivery.ts';
import type { Chunk, Document, SkippedDocument, Source } from '../core/document.ts';
import type { EventType } from '../core/event.ts';
import type { AgentId, BlockId, ChannelId, ChunkId, MessageId, ParticipantId } from '../core/ids.ts';
import type { Block, BlockChange, Passage } from '../core/memory.ts';
import type { Broadcast, Message, Request } from '../core/message.ts';
import type { NodeRecord, NodeRequest } from '../core/node.ts';
import type { Reminder } from '../core/reminder.ts';
import type { Run, RunRecord } from '../core/run.ts';
import type { Session } from '../core/session.ts';
import type { Timer } from '../core/timer.ts';
import type { Link, Workspace } from '../core/workspace.ts';
import type { KeptResponse, NewToken, Place, StoredFile, StoredVector } from './views.ts';

/**
 * The tables as queries see them: core's records, in camelCase, with booleans and lists. In the database columns are snake_case,
 * booleans are 0 and 1, lists and objects are JSON (columns.ts); migrations/ creates them.
 */
export interface Schema {
  readonly counters: { name: string; value: number };
  readonly participants: Participant;
  readonly trees: { id: AgentId; runsSincePerson: number; lastClaim: number; toldPaused: boolean };
  readonly agents: Agent;
  readonly channels: Channel;
  readonly members: Member;
  readonly messages: Message;
  readonly requests: Request;
  readonly broadcasts: Broadcast;
  readonly deliveries: Omit<Delivery, 'round'> & { round: number };
  readonly runs: Run;
  readonly run_messages: Omit<RunRecord, 'content'> & { content: string };
  readonly events: EventRow;
  readonly tokens: NewToken & { revokedAt: number | null };
  readonly posts: KeptResponse;
  readonly workspaces: Workspace;
  readonly links: Link;
  readonly blocks: Block;
  readonly block_readers: { blockId: BlockId; agentId: AgentId };
  readonly block_changes: BlockChange;
  /** `folded`: the content in lower case if SQLite cannot fold it itself; otherwise null. */
  readonly passages: Passage & { folded: string | null };
  readonly passage_words: { rowid: number; words: string };
  readonly person_runs: { personId: ParticipantId; day: number; runs: number };
  readonly reactions: { messageId: MessageId; emoji: string; participantId: ParticipantId; at: number };
  readonly turns: Place;
  readonly sources: Source;
  readonly documents: Document;
  readonly skipped: SkippedDocument;
  readonly chunks: Omit<Chunk, 'id'> & { id: Generated<ChunkId> };
  /** `title` on SQLite only: PostgreSQL stores a title's words among the others, with their own weight. */
  readonly chunk_words: { rowid: number; title: string; words: string };
  readonly chunk_vectors: StoredVector & { hash: string; model: string; dimension: number };
  readonly vector_state: { id: number; seq: number };
  readonly nodes: NodeRecord;
  readonly node_requests: NodeRequest;
  readonly timers: Timer;
  readonly reminders: Reminder;
  readonly sessions: Session;
  readonly files: StoredFile;
  readonly attachments: Pick<Attachment, 'messageId' | 'position' | 'name' | 'hash'>;
  readonly conversation_entries: Omit<ConversationEntry, 'content'> & { content: string };
}

export interface EventRow {
  seq: number;
  type: EventType;
  at: number;
  agentId: AgentId | null;
  channelId: ChannelId | null;
  data: object;
}
