import type { Generated } from 'kysely';
import type { RunMessageType, RunState, StopReason } from '../core/run.ts';

/** The tables as both engines hold them; migrations/ is where they are made. */
export interface Schema {
  readonly counters: { name: string; value: number };
  readonly participants: ParticipantRow;
  readonly trees: { id: string; runsSincePerson: number; lastClaim: number; toldPaused: number };
  readonly agents: AgentRow;
  readonly channels: ChannelRow;
  readonly members: MemberRow;
  readonly messages: MessageRow;
  readonly requests: RequestRow;
  readonly broadcasts: BroadcastRow;
  readonly deliveries: DeliveryRow;
  readonly runs: RunRow;
  readonly run_messages: RunMessageRow;
  readonly events: EventRow;
  readonly tokens: TokenRow;
  readonly posts: PostRow;
  readonly workspaces: WorkspaceRow;
  readonly links: LinkRow;
  readonly blocks: BlockRow;
  readonly block_readers: { blockId: string; agentId: string };
  readonly block_changes: BlockChangeRow;
  readonly passages: PassageRow;
  readonly passage_words: { rowid: number; words: string };
  readonly person_runs: { personId: string; day: number; runs: number };
  readonly reactions: { messageId: string; emoji: string; participantId: string; at: number };
  readonly turns: TurnRow;
  readonly sources: SourceRow;
  readonly documents: DocumentRow;
  readonly skipped: SkippedRow;
  readonly chunks: ChunkTable;
  /** `title` on SQLite only: PostgreSQL has a title's words among the others, with a weight of their own. */
  readonly chunk_words: { rowid: number; title: string; words: string };
  readonly chunk_vectors: ChunkVectorRow;
  readonly vector_state: { id: number; seq: number };
  readonly nodes: NodeRow;
}

/** A daemon that has used this store. */
export interface NodeRow {
  id: string;
  /** The name of its host. */
  name: string;
  home: string;
  seenAt: number;
}

export interface ParticipantRow {
  id: string;
  kind: 'agent' | 'person' | 'system';
  handle: string;
  handleKey: string;
  createdAt: number;
}

export interface AgentRow {
  id: string;
  treeId: string;
  parentId: string | null;
  depth: number;
  name: string;
  nameKey: string;
  handle: string;
  role: string;
  instructions: string;
  provider: string;
  model: string | null;
  program: string | null;
  /** The directory that it works in: its workspace's, or one inside. */
  workspace: string;
  workspaceId: string | null;
  /** JSON list of tool names; null: every tool. */
  tools: string | null;
  /** What it was made from; null: from instructions alone. */
  persona: string | null;
  /** JSON object of texts; null without a persona. */
  personaArgs: string | null;
  /** The provider's handle to the conversation. */
  session: string | null;
  /** The provider did not know the session any more, and no turn has ended well since. */
  lostSession: number;
  nodeId: string;
  /** The run that spawned it, until the attempt ends and it is ready. */
  spawnedBy: string | null;
  ready: number;
  /** Terminates when its turn ends. */
  completing: number;
  /** No attempt starts before; `rests` counts how often in a row it was put off. */
  restUntil: number;
  rests: number;
  /** Paused: no attempt starts until a person resumes it. */
  pausedAt: number | null;
  pausedReason: string | null;
  createdAt: number;
  terminatedAt: number | null;
}

export interface ChannelRow {
  id: string;
  kind: 'public' | 'private' | 'dm';
  topic: string;
  /** For a DM, the two participants' ids in order, joined. */
  pair: string | null;
  /** For a team's channel, the parent. */
  teamOf: string | null;
  createdAt: number;
  /** Null for DMs and teams, which come with those who are in them. */
  createdBy: string | null;
}

/** What wakes a member agent: every post of a person, only being mentioned, nothing. */
export type Wake = 'all' | 'mentions' | 'none';

export interface MemberRow {
  channelId: string;
  participantId: string;
  /** The order of joining. */
  position: number;
  wake: Wake;
  /** Number of the last message that it has seen. */
  readSeq: number;
}

export interface TurnRow {
  channelId: string;
  agentId: string;
  position: number;
  /** `passed`: it was released, and the next one no longer waits for it. */
  state: 'waiting' | 'released' | 'passed';
  releasedAt: number | null;
}

export interface MessageRow {
  id: string;
  seq: number;
  channelId: string;
  authorId: string;
  runId: string | null;
  kind: 'message' | 'reply' | 'error' | 'notice';
  text: string;
  inReplyTo: string | null;
  late: number;
  chainDepth: number;
  createdAt: number;
  /** The person whom it reaches in a DM. */
  inboxOf: string | null;
  /** The message that began the thread; null outside of threads. */
  threadId: string | null;
  editedAt: number | null;
  /** Its text is gone, too. */
  deletedAt: number | null;
  /** The `traceparent` of the span that posted it; null where nothing is traced. */
  trace: string | null;
  /** The person at whose word the chain began; null: the owner, or nobody. */
  payerId: string | null;
}

export interface RequestRow {
  messageId: string;
  seq: number;
  askerId: string;
  recipientId: string;
  /** The request that the asking run served. */
  parentId: string | null;
  state: 'open' | 'closed';
  deadlineAt: number | null;
  replyId: string | null;
  closedAt: number | null;
}

/** A broadcast whose replies are collected. */
export interface BroadcastRow {
  messageId: string;
  authorId: string;
  /** Its replies wake nobody: the chain is as deep as it may be. */
  quiet: number;
  /** When the broadcaster gets what is there by then. */
  closesAt: number;
  closedAt: number | null;
}

export type DeliveryKind = 'request' | 'reply' | 'news';

export interface DeliveryRow {
  messageId: string;
  agentId: string;
  seq: number;
  kind: DeliveryKind;
  state: 'pending' | 'injected' | 'acknowledged' | 'dead';
  runId: string | null;
  /** 0 outside of a channel's turns, 1 in the agent's turn, 2 held back for it or collected; -1: it wakes nobody. */
  round: number;
}

export interface RunRow {
  id: string;
  seq: number;
  agentId: string;
  treeId: string;
  nodeId: string;
  state: RunState;
  attempt: number;
  /** Attempts that counted. */
  failures: number;
  /** Raised whenever a claim ends; a write with an older one is refused. */
  fence: number;
  serves: string | null;
  triggerId: string | null;
  chainDepth: number;
  /** The person whose allowance it counts against; null: it counts for the tree. */
  payerId: string | null;
  stopReason: StopReason | null;
  error: string | null;
  finalText: string | null;
  inputTokens: number;
  outputTokens: number;
  costUsd: number;
  notBefore: number;
  leaseUntil: number | null;
  pid: number | null;
  pidStarted: string | null;
  /** Deaths of the daemon that it was under way at: in a row without progress, and since the machine started. */
  deaths: number;
  deathsEver: number;
  /** The most records that an attempt had made when the daemon died. */
  recordsAtDeath: number;
  /** The boot of the machine on which it was claimed last. */
  boot: string | null;
  createdAt: number;
  startedAt: number | null;
  endedAt: number | null;
}

export interface RunMessageRow {
  runId: string;
  n: number;
  step: number;
  attempt: number;
  type: RunMessageType;
  tool: string | null;
  callId: string | null;
  /** Tool and canonical arguments, hashed: what makes two calls identical. */
  callKey: string | null;
  content: string;
  isError: number;
  /** A successful call that changed something: the one that a repeated attempt gets back. */
  effect: number;
  createdAt: number;
}

export interface EventRow {
  seq: number;
  type: string;
  at: number;
  agentId: string | null;
  channelId: string | null;
  data: string;
}

export interface TokenRow {
  id: string;
  hash: string;
  participantId: string;
  label: string;
  createdAt: number;
  revokedAt: number | null;
}

export interface PostRow {
  participantId: string;
  key: string;
  /** Route and arguments, hashed. */
  request: string;
  status: number;
  response: string;
  createdAt: number;
}

export interface WorkspaceRow {
  id: string;
  name: string;
  /** Null once it is deleted. */
  nameKey: string | null;
  ownerId: string;
  /** Its directory; for a view, the one of the other workspace that it shows. */
  path: string;
  /** Whether the directory is ours to remove. */
  made: number;
  nodeId: string;
  viewOf: string | null;
  mode: 'ro' | 'rw';
  /** JSON list of hosts; null: those of the workspace that it shows, or of the configuration. */
  network: string | null;
  /** For a git worktree, the directory where its repository keeps everything. */
  repository: string | null;
  createdAt: number;
  deletedAt: number | null;
}

export interface LinkRow {
  workspaceId: string;
  /** Path inside the workspace. */
  target: string;
  source: string;
  mode: 'ro' | 'rw';
  madeBy: string;
  createdAt: number;
}

export interface BlockRow {
  id: string;
  /** An agent or `user`. */
  ownerId: string;
  label: string;
  labelKey: string;
  text: string;
  /** Counts every change, a deletion too, so that no number comes twice. */
  version: number;
  /** Whether those who see it may change it. */
  open: number;
  createdAt: number;
  updatedAt: number;
  deletedAt: number | null;
}

export interface BlockChangeRow {
  blockId: string;
  version: number;
  /** Null: it was deleted. */
  text: string | null;
  changedBy: string;
  at: number;
}

export interface PassageRow {
  agentId: string;
  /** Number of the event that told of it. */
  seq: number;
  id: string;
  content: string;
  /** In small letters, where SQLite could not fold it itself; else null. */
  folded: string | null;
  /** JSON list. */
  tags: string;
  createdAt: number;
}

export interface SourceRow {
  /** `type:name`. */
  name: string;
  /** How its last sync ended, or that one is under way (or died). */
  state: 'syncing' | 'synced' | 'failed';
  /** JSON of its connector, to begin the next sync with. Never credentials. */
  checkpoint: string | null;
  notes: string | null;
  startedAt: number | null;
  /** When a sync last came to its end. */
  syncedAt: number | null;
}

export interface DocumentRow {
  id: string;
  source: string;
  /** What its source calls it: a path, a key. */
  sourceId: string;
  /** What tells without reading it that it is unchanged, as its connector and the settings of the index make it. */
  version: string;
  /** Of everything that its source says about it. */
  hash: string;
  contentType: string;
  createdAt: number;
  updatedAt: number;
  indexedAt: number;
  title: string | null;
  author: string | null;
  url: string | null;
  /** JSON list. */
  tags: string;
  /** JSON object. */
  metadata: string;
  body: string;
}

/** What could not be read, and why; it is not tried again until it changes. */
export interface SkippedRow {
  source: string;
  sourceId: string;
  version: string;
  reason: string;
  at: number;
}

interface ChunkTable extends Omit<ChunkRow, 'id'> {
  id: Generated<number>;
}

export interface ChunkRow {
  id: number;
  documentId: string;
  /** Its number in its document, from 0. */
  idx: number;
  /** Of all that it is found by; a vector with another hash is stale. */
  hash: string;
  /** JSON: `{headings, from, to}`. */
  place: string;
  text: string;
}

export interface ChunkVectorRow {
  chunkId: number;
  model: string;
  dimension: number;
  /** The chunk's, when the vector was made. */
  hash: string;
  vector: Buffer;
  /** The later it was stored, the higher. */
  seq: number;
}
