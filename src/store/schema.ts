import type { Generated } from 'kysely';
import type { RunMessageType, RunState, StopReason } from '../core/run.ts';

/** The tables as both engines hold them; migrations/ is where they are made. */
export interface Schema {
  readonly counters: { name: string; value: number };
  readonly participants: ParticipantRow;
  readonly trees: { id: string; runs_since_person: number; last_claim: number; told_paused: number };
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
  readonly block_readers: { block_id: string; agent_id: string };
  readonly block_changes: BlockChangeRow;
  readonly passages: PassageRow;
  readonly passage_words: { rowid: number; words: string };
  readonly person_runs: { person_id: string; day: number; runs: number };
  readonly reactions: { message_id: string; emoji: string; participant_id: string; at: number };
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
  seen_at: number;
}

export interface ParticipantRow {
  id: string;
  kind: 'agent' | 'person' | 'system';
  handle: string;
  handle_key: string;
  created_at: number;
}

export interface AgentRow {
  id: string;
  tree_id: string;
  parent_id: string | null;
  depth: number;
  name: string;
  name_key: string;
  handle: string;
  role: string;
  instructions: string;
  provider: string;
  model: string | null;
  program: string | null;
  /** The directory that it works in: its workspace's, or one inside. */
  workspace: string;
  workspace_id: string | null;
  /** JSON list of tool names; null: every tool. */
  tools: string | null;
  /** What it was made from; null: from instructions alone. */
  persona: string | null;
  /** JSON object of texts; null without a persona. */
  persona_args: string | null;
  /** The provider's handle to the conversation. */
  session: string | null;
  /** The provider did not know the session any more, and no turn has ended well since. */
  lost_session: number;
  node_id: string;
  /** The run that spawned it, until the attempt ends and it is ready. */
  spawned_by: string | null;
  ready: number;
  /** Terminates when its turn ends. */
  completing: number;
  /** No attempt starts before; `rests` counts how often in a row it was put off. */
  rest_until: number;
  rests: number;
  /** Paused: no attempt starts until a person resumes it. */
  paused_at: number | null;
  paused_reason: string | null;
  created_at: number;
  terminated_at: number | null;
}

export interface ChannelRow {
  id: string;
  kind: 'public' | 'private' | 'dm';
  topic: string;
  /** For a DM, the two participants' ids in order, joined. */
  pair: string | null;
  /** For a team's channel, the parent. */
  team_of: string | null;
  created_at: number;
  /** Null for DMs and teams, which come with those who are in them. */
  created_by: string | null;
}

/** What wakes a member agent: every post of a person, only being mentioned, nothing. */
export type Wake = 'all' | 'mentions' | 'none';

export interface MemberRow {
  channel_id: string;
  participant_id: string;
  /** The order of joining. */
  position: number;
  wake: Wake;
  /** Number of the last message that it has seen. */
  read_seq: number;
}

export interface TurnRow {
  channel_id: string;
  agent_id: string;
  position: number;
  /** `passed`: it was released, and the next one no longer waits for it. */
  state: 'waiting' | 'released' | 'passed';
  released_at: number | null;
}

export interface MessageRow {
  id: string;
  seq: number;
  channel_id: string;
  author_id: string;
  run_id: string | null;
  kind: 'message' | 'reply' | 'error' | 'notice';
  text: string;
  in_reply_to: string | null;
  late: number;
  chain_depth: number;
  created_at: number;
  /** The person whom it reaches in a DM. */
  inbox_of: string | null;
  /** The message that began the thread; null outside of threads. */
  thread_id: string | null;
  edited_at: number | null;
  /** Its text is gone, too. */
  deleted_at: number | null;
  /** The `traceparent` of the span that posted it; null where nothing is traced. */
  trace: string | null;
  /** The person at whose word the chain began; null: the owner, or nobody. */
  payer_id: string | null;
}

export interface RequestRow {
  message_id: string;
  seq: number;
  asker_id: string;
  recipient_id: string;
  /** The request that the asking run served. */
  parent_id: string | null;
  state: 'open' | 'closed';
  deadline_at: number | null;
  reply_id: string | null;
  closed_at: number | null;
}

/** A broadcast whose replies are collected. */
export interface BroadcastRow {
  message_id: string;
  author_id: string;
  /** Its replies wake nobody: the chain is as deep as it may be. */
  quiet: number;
  /** When the broadcaster gets what is there by then. */
  closes_at: number;
  closed_at: number | null;
}

export type DeliveryKind = 'request' | 'reply' | 'news';

export interface DeliveryRow {
  message_id: string;
  agent_id: string;
  seq: number;
  kind: DeliveryKind;
  state: 'pending' | 'injected' | 'acknowledged' | 'dead';
  run_id: string | null;
  /** 0 outside of a channel's turns, 1 in the agent's turn, 2 held back for it or collected; -1: it wakes nobody. */
  round: number;
}

export interface RunRow {
  id: string;
  seq: number;
  agent_id: string;
  tree_id: string;
  node_id: string;
  state: RunState;
  attempt: number;
  /** Attempts that counted. */
  failures: number;
  /** Raised whenever a claim ends; a write with an older one is refused. */
  fence: number;
  serves: string | null;
  trigger_id: string | null;
  chain_depth: number;
  /** The person whose allowance it counts against; null: it counts for the tree. */
  payer_id: string | null;
  stop_reason: StopReason | null;
  error: string | null;
  final_text: string | null;
  input_tokens: number;
  output_tokens: number;
  cost_usd: number;
  not_before: number;
  lease_until: number | null;
  pid: number | null;
  pid_started: string | null;
  /** Deaths of the daemon that it was under way at: in a row without progress, and since the machine started. */
  deaths: number;
  deaths_ever: number;
  /** The most records that an attempt had made when the daemon died. */
  records_at_death: number;
  /** The boot of the machine on which it was claimed last. */
  boot: string | null;
  created_at: number;
  started_at: number | null;
  ended_at: number | null;
}

export interface RunMessageRow {
  run_id: string;
  n: number;
  step: number;
  attempt: number;
  type: RunMessageType;
  tool: string | null;
  call_id: string | null;
  /** Tool and canonical arguments, hashed: what makes two calls identical. */
  call_key: string | null;
  content: string;
  is_error: number;
  /** A successful call that changed something: the one that a repeated attempt gets back. */
  effect: number;
  created_at: number;
}

export interface EventRow {
  seq: number;
  type: string;
  at: number;
  agent_id: string | null;
  channel_id: string | null;
  data: string;
}

export interface TokenRow {
  id: string;
  hash: string;
  participant_id: string;
  label: string;
  created_at: number;
  revoked_at: number | null;
}

export interface PostRow {
  participant_id: string;
  key: string;
  /** Route and arguments, hashed. */
  request: string;
  status: number;
  response: string;
  created_at: number;
}

export interface WorkspaceRow {
  id: string;
  name: string;
  /** Null once it is deleted. */
  name_key: string | null;
  owner_id: string;
  /** Its directory; for a view, the one of the other workspace that it shows. */
  path: string;
  /** Whether the directory is ours to remove. */
  made: number;
  node_id: string;
  view_of: string | null;
  mode: 'ro' | 'rw';
  /** JSON list of hosts; null: those of the workspace that it shows, or of the configuration. */
  network: string | null;
  /** For a git worktree, the directory where its repository keeps everything. */
  repository: string | null;
  created_at: number;
  deleted_at: number | null;
}

export interface LinkRow {
  workspace_id: string;
  /** Path inside the workspace. */
  target: string;
  source: string;
  mode: 'ro' | 'rw';
  made_by: string;
  created_at: number;
}

export interface BlockRow {
  id: string;
  /** An agent or `user`. */
  owner_id: string;
  label: string;
  label_key: string;
  text: string;
  /** Counts every change, a deletion too, so that no number comes twice. */
  version: number;
  /** Whether those who see it may change it. */
  open: number;
  created_at: number;
  updated_at: number;
  deleted_at: number | null;
}

export interface BlockChangeRow {
  block_id: string;
  version: number;
  /** Null: it was deleted. */
  text: string | null;
  changed_by: string;
  at: number;
}

export interface PassageRow {
  agent_id: string;
  /** Number of the event that told of it. */
  seq: number;
  id: string;
  content: string;
  /** In small letters, where SQLite could not fold it itself; else null. */
  folded: string | null;
  /** JSON list. */
  tags: string;
  created_at: number;
}

export interface SourceRow {
  /** `type:name`. */
  name: string;
  /** How its last sync ended, or that one is under way (or died). */
  state: 'syncing' | 'synced' | 'failed';
  /** JSON of its connector, to begin the next sync with. Never credentials. */
  checkpoint: string | null;
  notes: string | null;
  started_at: number | null;
  /** When a sync last came to its end. */
  synced_at: number | null;
}

export interface DocumentRow {
  id: string;
  source: string;
  /** What its source calls it: a path, a key. */
  source_id: string;
  /** What tells without reading it that it is unchanged, as its connector and the settings of the index make it. */
  version: string;
  /** Of everything that its source says about it. */
  hash: string;
  content_type: string;
  created_at: number;
  updated_at: number;
  indexed_at: number;
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
  source_id: string;
  version: string;
  reason: string;
  at: number;
}

interface ChunkTable extends Omit<ChunkRow, 'id'> {
  id: Generated<number>;
}

export interface ChunkRow {
  id: number;
  document_id: string;
  /** Its number in its document, from 0. */
  idx: number;
  /** Of all that it is found by; a vector with another hash is stale. */
  hash: string;
  /** JSON: `{headings, from, to}`. */
  place: string;
  text: string;
}

export interface ChunkVectorRow {
  chunk_id: number;
  model: string;
  dimension: number;
  /** The chunk's, when the vector was made. */
  hash: string;
  vector: Buffer;
  /** The later it was stored, the higher. */
  seq: number;
}
