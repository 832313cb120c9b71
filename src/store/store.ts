import type { agentQueries } from './agents.ts';
import type { blockQueries } from './blocks.ts';
import type { broadcastQueries } from './broadcasts.ts';
import type { channelQueries } from './channels.ts';
import type { chunkSearchQueries } from './chunk-search.ts';
import type { chunkQueries } from './chunks.ts';
import type { deliveryQueries } from './deliveries.ts';
import type { documentQueries } from './documents.ts';
import type { eventQueries } from './events.ts';
import type { leaseQueries } from './leases.ts';
import type { messageQueries } from './messages.ts';
import type { nodeQueries } from './nodes.ts';
import type { passageQueries } from './passages.ts';
import type { payerQueries } from './payers.ts';
import type { postQueries } from './posts.ts';
import type { Engine } from './query.ts';
import type { reactionQueries } from './reactions.ts';
import type { recordQueries } from './records.ts';
import type { requestQueries } from './requests.ts';
import type { retentionQueries } from './retention.ts';
import type { runQueries } from './runs.ts';
import type { tokenQueries } from './tokens.ts';
import type { turnQueries } from './turns.ts';
import type { vectorQueries } from './vectors.ts';
import type { workspaceQueries } from './workspaces.ts';

export type { AgentCursor, AgentView } from './agents.ts';
export type { BlockView } from './blocks.ts';
export type { Respondent } from './broadcasts.ts';
export type { ChannelView, MemberView } from './channels.ts';
export type { ChunkFilter } from './chunk-query.ts';
export type { ChunkView } from './chunk-search.ts';
export type { NewChunk } from './chunks.ts';
export type { DeliveryView } from './deliveries.ts';
export type { MessageView } from './messages.ts';
export type { PassageFilter } from './passages.ts';
export type { Engine } from './query.ts';
export type { ReactionView } from './reactions.ts';
export type { RunCursor } from './runs.ts';
export type { EventRow } from './schema.ts';
export type { UnembeddedChunk } from './vectors.ts';
export type { WorkspaceView } from './workspaces.ts';

/** What a transaction can do. `get…` answers null when there is none; a change that must match a row and does not, throws. */
export type Tx = ReturnType<typeof agentQueries> &
  ReturnType<typeof blockQueries> &
  ReturnType<typeof broadcastQueries> &
  ReturnType<typeof channelQueries> &
  ReturnType<typeof chunkQueries> &
  ReturnType<typeof chunkSearchQueries> &
  ReturnType<typeof deliveryQueries> &
  ReturnType<typeof documentQueries> &
  ReturnType<typeof eventQueries> &
  ReturnType<typeof leaseQueries> &
  ReturnType<typeof messageQueries> &
  ReturnType<typeof nodeQueries> &
  ReturnType<typeof passageQueries> &
  ReturnType<typeof payerQueries> &
  ReturnType<typeof postQueries> &
  ReturnType<typeof reactionQueries> &
  ReturnType<typeof recordQueries> &
  ReturnType<typeof requestQueries> &
  ReturnType<typeof retentionQueries> &
  ReturnType<typeof runQueries> &
  ReturnType<typeof tokenQueries> &
  ReturnType<typeof turnQueries> &
  ReturnType<typeof vectorQueries> &
  ReturnType<typeof workspaceQueries>;

/** What listeners hear after a commit. */
export interface Change {
  /** Number of the last event. */
  readonly seq: number;
  /** A run may have become ready to be claimed. */
  readonly runnable: boolean;
}

/** Where a store says that it lost a connection, and that it has it back. */
export interface StoreLog {
  readonly info: (details: object, message: string) => void;
  readonly warn: (details: object, message: string) => void;
}

export interface Store {
  readonly engine: Engine;
  /** Reads what is committed, never a part of a batch. */
  read<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /**
   * Runs `work` alone, in one transaction, and answers when it is durable. Writers are serial, on PostgreSQL across all
   * nodes, so `work` may read and then decide. It may be executed more than once, or fail at its commit: it does no I/O but
   * the store's and changes nothing in memory. It returns what memory has to learn, and the caller changes that afterwards.
   */
  write<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /**
   * Called after every commit that brought events or runs, on PostgreSQL also after other nodes': at once while the connection for
   * their hints is up, otherwise within seconds, because the store looks itself.
   */
  onChange(listener: (change: Change) => void): () => void;
  /** Commits made so far by this process: benchmarks tell from it how many writers shared one. */
  commits(): number;
  /** Why nothing is written any more: the file of the store is not what it was. Null where all is well. */
  problem(): string | null;
  close(): Promise<void>;
}
