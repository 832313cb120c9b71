import type { Generated } from 'kysely';
import type { Agent } from '../core/agent.ts';
import type { Attachment } from '../core/attachment.ts';
import type { Budget, Charge } from '../core/budget.ts';
import type { Channel, Member, Participant } from '../core/channel.ts';
import type { Configured } from '../core/configured.ts';
import type { ConversationEntry } from '../core/conversation.ts';
import type { Delivery } from '../core/delivery.ts';
import type { Chunk, Document, SkippedDocument, Source } from '../core/document.ts';
import type { EventType } from '../core/event.ts';
import type { Evidence } from '../core/evidence.ts';
import type { AgentId, BlockId, ChannelId, ChunkId, MessageId, ParticipantId } from '../core/ids.ts';
import type { Leftover } from '../core/leftover.ts';
import type { Block, BlockChange, Passage } from '../core/memory.ts';
import type { Broadcast, Message, Request } from '../core/message.ts';
import type { NodeRecord, NodeRequest } from '../core/node.ts';
import type { Question } from '../core/question.ts';
import type { Reminder } from '../core/reminder.ts';
import type { Run, RunRecord, Usage } from '../core/run.ts';
import type { Schedule } from '../core/schedule.ts';
import type { ProviderLimit } from '../core/seat.ts';
import type { Session } from '../core/session.ts';
import type { SettingsRevision } from '../core/settings.ts';
import type { Subscription } from '../core/subscription.ts';
import type { Timer } from '../core/timer.ts';
import type { AttemptUsage, UsageGrade } from '../core/usage.ts';
import type { Wip } from '../core/wip.ts';
import type { Link, Workspace } from '../core/workspace.ts';
import type {
  KeptResponse,
  NewToken,
  Place,
  SnapshotEntry,
  SnapshotFile,
  StoredFile,
  StoredPassageVector,
  StoredVector,
} from './views.ts';

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
  readonly run_usage: AttemptUsage;
  /** `tallied`: in `usage_totals`. */
  readonly runs: Run & { tallied: Generated<boolean> };
  readonly usage_totals: Usage & { kind: 'agent' | 'tree' | 'day'; key: string; day: number } & Record<
      UsageGrade,
      number
    >;
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
  readonly passages: Passage & { folded: string | null; length: number; indexed: boolean; embeddedBy: string | null };
  readonly passage_stats: { agentId: AgentId; passages: number; length: number };
  readonly passage_vectors: StoredPassageVector & { agentId: AgentId; model: string; dimension: number };
  /** SQLite only: every occurrence of a word in `passage_words`. */
  readonly passage_terms: { term: string; doc: number };
  /** SQLite only: every word of `passage_words`. */
  readonly passage_vocabulary: { term: string };
  readonly passage_tags: { agentId: AgentId; tag: string; seq: number };
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
  /** SQLite only: every word of `chunk_words`. */
  readonly chunk_terms: { term: string; doc: number };
  readonly chunk_vectors: StoredVector & { hash: string; model: string; dimension: number };
  readonly vector_state: { id: number; seq: number };
  readonly nodes: NodeRecord;
  readonly node_requests: NodeRequest;
  readonly timers: Timer;
  readonly questions: Question;
  readonly reminders: Reminder;
  readonly schedules: Schedule;
  readonly subscriptions: Subscription;
  readonly sessions: Session;
  readonly wips: Wip;
  readonly leftovers: Leftover;
  readonly agent_settings: SettingsRevision;
  readonly configured: Configured;
  readonly former_names: { agentId: AgentId; nameKey: string };
  readonly provider_limits: ProviderLimit;
  readonly budgets: Budget;
  readonly charges: Charge;
  readonly evidence: Evidence;
  readonly files: StoredFile;
  readonly snapshot_files: SnapshotFile & { usedAt: number };
  readonly snapshot_entries: SnapshotEntry & { snapshot: string; usedAt: number };
  readonly attachments: Pick<Attachment, 'messageId' | 'position' | 'name' | 'hash'>;
  readonly conversation_entries: Omit<ConversationEntry, 'content'> & { content: string };
}

export interface EventRow {
  /** Null on PostgreSQL until it is numbered, shortly after its commit. */
  seq: number | null;
  type: EventType;
  at: number;
  agentId: AgentId | null;
  channelId: ChannelId | null;
  data: object;
}
