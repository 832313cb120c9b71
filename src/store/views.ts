import type { Agent } from '../core/agent.ts';
import type { Channel, ChannelKind, Member, Participant, ParticipantKind } from '../core/channel.ts';
import type { DeliveryState, Waiting } from '../core/delivery.ts';
import type { AgentId, BlockId, ChannelId, MessageId, NodeId, ParticipantId, RunId, TokenId } from '../core/ids.ts';
import type { Block, Passage } from '../core/memory.ts';
import type { Message, MessageKind, Request } from '../core/message.ts';
import type { NodeRecord } from '../core/node.ts';
import type { PortabilityFacts } from '../core/portable.ts';
import type { Question } from '../core/question.ts';
import type { Run, RunState, StopReason } from '../core/run.ts';
import type { SessionKey } from '../core/session.ts';
import type { SettingsRevision } from '../core/settings.ts';
import type { Standing } from '../core/status.ts';
import type { Workspace } from '../core/workspace.ts';

export type * from './document-views.ts';

/** What transactions return and take beside the records of core. */

/** An agent with what its state and its status are derived from. */
export interface AgentView extends Agent, Standing, PortabilityFacts {
  readonly running: number;
  readonly asking: number;
  readonly pending: number;
}

export interface BlockChangePage {
  readonly blockId: BlockId;
  readonly before: number;
  readonly limit: number;
}

/** A run that a session has seen. */
export interface SeenRun extends SessionKey {
  readonly runId: RunId;
  readonly runSeq: number;
  /** The stored files of the session as they are after the run; null if they are not stored. */
  readonly snapshot: string | null;
}

/** A file of a session, compressed. */
export interface SnapshotFile {
  readonly hash: string;
  /** Of the file itself. */
  readonly size: number;
  readonly bytes: Uint8Array;
}

export interface SnapshotEntry {
  /** In the agent's home. */
  readonly path: string;
  readonly hash: string;
}

/** Who waits for whom. */
export interface OpenRequest extends Pick<Request, 'messageId' | 'seq' | 'deadlineAt'> {
  readonly createdAt: number;
  readonly from: string;
  readonly to: string;
}

/** What executes an agent's turns. */
export interface SeatChange
  extends Pick<Agent, 'id' | 'account' | 'actingProvider' | 'actingModel' | 'actingAccount' | 'seatNew'> {}

export interface AgentCursor {
  readonly createdAt: number;
  readonly id: AgentId;
}

/** A channel as one participant sees it. */
export interface ChannelView extends Channel {
  /** Null if the participant is not a member. */
  readonly readSeq: number | null;
  readonly unread: number | null;
}

/** `all`: not only those that the participant sees. */
export interface ChannelPage {
  readonly participantId: ParticipantId;
  readonly all: boolean;
  readonly after: string;
  readonly limit: number;
}

export interface MemberView extends Pick<Member, 'position' | 'wake' | 'readSeq'> {
  readonly id: ParticipantId;
  readonly kind: ParticipantKind;
  readonly handle: string;
  readonly provider: string | null;
  readonly terminatedAt: number | null;
}

/** A message as people read it. */
/** A question with the conversation it is in. */
export interface QuestionView extends Question {
  readonly seq: number;
  readonly channelId: ChannelId;
  /** Of the agent. */
  readonly handle: string;
  readonly provider: string;
  readonly deadlineAt: number | null;
  /** The request that it was asked for. */
  readonly parentId: MessageId | null;
  readonly settledByHandle: string | null;
}

export interface MessageView extends Message {
  readonly handle: string;
  /** For a request. */
  readonly requestState: 'open' | 'closed' | null;
  readonly recipientId: ParticipantId | null;
}

/** What others said in a channel after a number. */
export interface SaidAfter {
  readonly channelId: ChannelId;
  readonly readerId: ParticipantId;
  readonly after: number;
  readonly limit: number;
}

export interface ReactionKey {
  readonly messageId: MessageId;
  readonly emoji: string;
  readonly participantId: ParticipantId;
}

export interface ReactionView {
  readonly messageId: MessageId;
  readonly emoji: string;
  readonly handle: string;
}

/** A delivery with its message and what decides which run carries it. */
export interface DeliveryView extends Waiting, Pick<Message, 'late' | 'chainDepth' | 'trace' | 'payerId' | 'cause'> {
  readonly seq: number;
  readonly state: DeliveryState;
  readonly kind: MessageKind;
  readonly channelId: ChannelId;
  readonly channelKind: ChannelKind;
  readonly teamOf: AgentId | null;
  readonly threadId: MessageId | null;
  readonly text: string;
  readonly inReplyTo: MessageId | null;
  readonly authorKind: ParticipantKind;
  readonly authorName: string | null;
  readonly authorHandle: string;
  /** Its own id, for a broadcast whose replies are collected. */
  readonly broadcast: MessageId | null;
  /** For a request. */
  readonly requestState: 'open' | 'closed' | null;
}

export type DeliveryHead = Omit<DeliveryView, 'text'>;

export interface SizedDelivery extends Waiting, Pick<DeliveryView, 'kind' | 'late' | 'authorHandle' | 'authorName'> {
  readonly payerId: ParticipantId | null;
  readonly size: number;
}

/** One of those whom a broadcast reached. */
export interface Respondent {
  readonly agentId: AgentId;
  readonly name: string;
  readonly provider: string;
  readonly state: DeliveryState;
  /** Its runs that have not ended. */
  readonly live: number;
  readonly replies: number;
}

export interface PlaceKey {
  readonly channelId: ChannelId;
  readonly agentId: AgentId;
}

export interface Place extends PlaceKey {
  readonly position: number;
  /** `passed`: it was released, and the next one no longer waits for it. */
  readonly state: 'waiting' | 'released' | 'passed';
  readonly releasedAt: number | null;
}

export interface PlaceView extends Place {
  /** It can run: ready, not resting, not paused, on a known node. */
  readonly able: boolean;
  readonly running: number;
}

/** A run as its attempt holds it. */
export interface RunHold {
  readonly runId: RunId;
  readonly fence: number;
}

export interface RunEnd {
  readonly state: 'completed' | 'failed' | 'cancelled';
  readonly stopReason: StopReason;
  readonly error: string | null;
  readonly finalText: string | null;
  readonly now: number;
}

export interface ClaimFilter {
  readonly nodeId: NodeId;
  readonly now: number;
  readonly maxTreeRuns: number;
  /** People whose runs of today are used up. */
  readonly spent: readonly ParticipantId[];
  /** Agents whose last process has not ended, though their run has. */
  readonly busyAgents: readonly AgentId[];
  /** Providers without a free slot. */
  readonly fullProviders: readonly string[];
  /** Runs with this many deaths run one at a time; null: no limit. */
  readonly suspectFrom: number | null;
}

/** Who claims a run. */
export interface Claimant extends LeaseHolder {
  readonly boot: string;
}

/** A daemon from its start to its end. */
export interface LeaseHolder {
  readonly nodeId: NodeId;
  readonly incarnation: string;
}

/** The open-ended run of an external agent. */
export interface NewOpenRun extends LeaseHolder {
  readonly agentId: AgentId;
  readonly treeId: AgentId;
  readonly now: number;
}

export interface RunFilter {
  readonly agentId: AgentId | null;
  readonly state: RunState | null;
}

export interface RunCursor {
  readonly seq: number;
  readonly id: RunId;
}

export interface UsageFilter {
  readonly by: 'agent' | 'tree' | 'day';
  readonly since: number;
  readonly until: number;
  readonly limit: number;
}

export interface PersonRuns {
  readonly personId: ParticipantId;
  readonly handle: string;
  readonly day: number;
  readonly runs: number;
  /** How many a schedule pays for; null: it is a person. */
  readonly most: number | null;
}

export interface NewlyPaused {
  /** Of a tree or a schedule. */
  readonly id: string;
  readonly agentId: AgentId;
  readonly kind: 'tree' | 'schedule';
}

/** A block with the handle of its owner. */
export interface BlockView extends Block {
  readonly owner: string;
}

export interface BlockUpdate {
  readonly id: BlockId;
  readonly before: number;
  readonly version: number;
  readonly text: string;
  readonly at: number;
  readonly deletedAt: number | null;
}

export interface NewPassage extends Omit<Passage, 'seq'> {
  /** The content in small letters where SQLite cannot fold it itself; else null. */
  readonly folded: string | null;
}

/** What a passage is found by (src/search): its own words, and the words around it, which count less. */
export interface PassageWords {
  readonly own: readonly string[];
  readonly near: readonly string[];
}

/** The terms of a query: any of them may match. A phrase is a list of words. */
export interface PassageTerms {
  readonly words: readonly string[];
  readonly phrases: readonly (readonly string[])[];
}

/** A passage and how well it matches, by BM25 with the agent's own statistics. */
export interface RankedPassage extends Passage {
  readonly score: number;
  /** The score of a passage of mean length that has every word and phrase once. */
  readonly most: number;
}

/** Of one agent, with all of the tags, from `since` to before `until`. */
export interface PassageFilter {
  readonly agentId: AgentId;
  readonly tags: readonly string[];
  readonly since: number;
  readonly until: number;
}

/** The vector of a passage, and the order in which vectors were stored. */
export interface StoredPassageVector {
  readonly seq: number;
  readonly number: number;
  readonly vector: Buffer;
}

/** A run as it was when a change of its state was decided. */
export type RunSeen = Pick<Run, 'id' | 'fence'>;

/** An attempt failed, and the run waits for the next one. */
export interface RunRetry extends Pick<Run, 'failures' | 'notBefore' | 'failedAttempts'> {
  readonly error: string;
  readonly now: number;
}

/** A workspace with the handle of its owner. */
export interface WorkspaceView extends Workspace {
  readonly owner: string;
}

export interface NewToken {
  readonly id: TokenId;
  readonly hash: string;
  readonly participantId: ParticipantId;
  readonly label: string;
  /** A page's token may not make tokens. `phone`: a page that another one paired. */
  readonly kind: 'api' | 'page' | 'phone';
  readonly createdAt: number;
  /** Null: it does not expire. */
  readonly expiresAt: number | null;
}

export interface TokenView extends Omit<NewToken, 'hash' | 'participantId'> {
  readonly revokedAt: number | null;
  readonly handle: string;
}

/** The participant of a token, and the token. */
export interface TokenOwner extends Participant {
  readonly tokenId: TokenId;
  readonly tokenKind: NewToken['kind'];
  readonly tokenCreatedAt: number;
  readonly tokenExpiresAt: number | null;
}

/** A node that never registered has no record. */
export interface NodeView {
  readonly id: NodeId;
  readonly record: NodeRecord | null;
}

/** What a node has to do. */
export interface NodeLoad {
  readonly id: NodeId;
  /** Those that are not terminated. */
  readonly agents: number;
  readonly running: number;
  readonly queued: number;
}

/** What a request with an Idempotency-Key was answered. */
export interface KeptResponse {
  readonly participantId: ParticipantId;
  readonly key: string;
  /** Route and arguments, hashed. */
  readonly request: string;
  readonly status: number;
  readonly response: unknown;
  readonly createdAt: number;
}

/** A step looks at some rows from a place on, and removes those older than `before` that nothing needs. */
export interface PruneStep<Position> {
  readonly before: number;
  readonly after: Position;
  readonly limit: number;
}

export interface Pruned<Position> {
  readonly removed: number;
  /** Where the next step begins; null after the last, or if nothing that was looked at is old. */
  readonly next: Position | null;
}

export interface ChangePlace {
  readonly blockId: BlockId;
  readonly version: number;
}

export interface MemberKey {
  readonly channelId: ChannelId;
  readonly participantId: ParticipantId;
}

export interface DeliveryKey {
  readonly messageId: MessageId;
  readonly agentId: AgentId;
}

export interface CallKey {
  readonly runId: RunId;
  readonly callKey: string;
  readonly attempt: number;
}

/** The bytes of a file that messages carry. */
export interface StoredFile {
  readonly hash: string;
  readonly mediaType: string;
  readonly size: number;
  readonly bytes: Uint8Array;
  readonly createdAt: number;
}

export interface RevisionView extends SettingsRevision {
  /** The handle of who changed it. */
  readonly by: string | null;
}
