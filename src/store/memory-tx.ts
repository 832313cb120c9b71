import type { AgentId, BlockId, NodeId, ParticipantId, PassageId } from '../core/ids.ts';
import type { Block, BlockChange, Passage } from '../core/memory.ts';
import type * as view from './views.ts';

/** Blocks and passages. */
export interface Memory {
  insertBlock(block: Block): Promise<void>;
  /** The owner's own of that label, also if it is deleted. */
  getBlockOf(p: { ownerId: ParticipantId; labelKey: string }): Promise<view.BlockView | null>;
  /** Its own or one shared with it. */
  getSeenBlock(p: { readerId: ParticipantId; labelKey: string }): Promise<view.BlockView | null>;
  /** By creation. */
  listSeenBlocks(p: { readerId: ParticipantId }): Promise<view.BlockView[]>;
  /** Compare and set by version. */
  tryUpdateBlock(p: view.BlockUpdate): Promise<boolean>;
  setBlockOpen(p: { id: BlockId; open: boolean }): Promise<void>;
  insertBlockReader(p: { blockId: BlockId; agentId: AgentId }): Promise<void>;
  deleteBlockReaders(p: { blockId: BlockId }): Promise<number>;
  listBlockReaders(p: { blockId: BlockId }): Promise<{ readonly id: AgentId; readonly handle: string }[]>;
  insertBlockChange(change: BlockChange): Promise<void>;
  getBlockChange(p: { blockId: BlockId; version: number }): Promise<BlockChange | null>;
  /** Newest first, with the handle of the author. */
  listBlockChanges(p: view.BlockChangePage): Promise<(BlockChange & { readonly by: string })[]>;
  /** Returns its number. It is found once `indexPassage` has given it its words. */
  insertPassage(passage: view.NewPassage): Promise<number>;
  /** Replaces the words of a passage that exists. */
  indexPassage(p: Pick<Passage, 'agentId' | 'seq'> & { readonly words: view.PassageWords }): Promise<void>;
  getPassage(p: { agentId: AgentId; id: PassageId }): Promise<Passage | null>;
  /** The agent's passages stored directly before and after this number. */
  getPassagesBeside(p: {
    agentId: AgentId;
    seq: number;
  }): Promise<{ readonly before: Passage | null; readonly after: Passage | null }>;
  tryDeletePassage(p: { agentId: AgentId; id: PassageId }): Promise<boolean>;
  /** Those that are not indexed in the current way, by number. */
  listUnindexedPassages(p: { limit: number }): Promise<Passage[]>;
  /** How many passages the agent has, and the sum of their lengths in words. */
  getPassageStats(p: { agentId: AgentId }): Promise<{ readonly passages: number; readonly length: number } | null>;
  /** Of the node's agents, by number. */
  listUnembeddedPassages(p: { nodeId: NodeId; limit: number }): Promise<Passage[]>;
  /** Returns the number stored: those whose passages exist. */
  putPassageVectors(p: {
    model: string;
    dimension: number;
    vectors: readonly { readonly agentId: AgentId; readonly seq: number; readonly vector: Buffer }[];
  }): Promise<number>;
  /** Passages with a vector of another model count as not embedded from now on. */
  forgetPassageVectors(p: { model: string }): Promise<number>;
  /** In the order in which they were stored, after `after`. */
  listPassageVectors(p: {
    agentId: AgentId;
    model: string;
    after: number;
    limit: number;
  }): Promise<view.StoredPassageVector[]>;
  getPassageVectors(p: {
    agentId: AgentId;
    model: string;
    seqs: readonly number[];
  }): Promise<{ readonly seq: number; readonly vector: Buffer }[]>;
  countPassageVectors(p: { agentId: AgentId; model: string }): Promise<number>;
  /** Newest first. */
  listPassages(p: view.PassageFilter & { before: number; limit: number }): Promise<Passage[]>;
  /** Those that exist and match the filter, in no order. */
  listPassagesBySeq(p: view.PassageFilter & { seqs: readonly number[] }): Promise<Passage[]>;
  /** With any of the words, in them or around them, best first by the agent's own statistics. */
  findPassages(p: view.PassageFilter & { terms: view.PassageTerms; limit: number }): Promise<view.RankedPassage[]>;
  /** Words of the agent's passages that begin so. */
  listPassageTerms(p: { agentId: AgentId; beginning: string; limit: number }): Promise<string[]>;
  /** Those that are neither in a passage of the agent nor around one. */
  listUnknownPassageWords(p: { agentId: AgentId; words: readonly string[] }): Promise<string[]>;
  /** With the text in them, in any case, newest first. */
  findPassagesContaining(p: view.PassageFilter & { text: string; limit: number }): Promise<Passage[]>;
}
