import { SubstratError } from './errors.ts';
import type { AgentId, BlockId, ParticipantId, PassageId, RunId } from './ids.ts';

export interface Block {
  readonly id: BlockId;
  /** An agent or the owner. */
  readonly ownerId: ParticipantId;
  readonly label: string;
  readonly labelKey: string;
  readonly text: string;
  /** Counts every change, including deletions, so that no version is used twice. */
  readonly version: number;
  /** Its readers may change it. */
  readonly open: boolean;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly deletedAt: number | null;
}

export interface BlockChange {
  readonly blockId: BlockId;
  readonly version: number;
  /** Null for a deletion. */
  readonly text: string | null;
  readonly changedBy: ParticipantId;
  readonly at: number;
}

export interface Passage {
  readonly agentId: AgentId;
  /** Sequence number of the event that announced it. */
  readonly seq: number;
  readonly id: PassageId;
  readonly content: string;
  readonly tags: readonly string[];
  readonly createdAt: number;
  /** The run that stored it; null if a person did. */
  readonly runId: RunId | null;
}

/** A passage that a search found. */
export interface FoundPassage extends Passage {
  /** From 0 to 1, and it means the same for every query: how much of the query the passage has. */
  readonly score: number;
}

/** Finds an agent's passages by meaning. */
export interface PassageMeaning {
  /**
   * The nearest passages by their numbers, best first. A score of 0 or less is that of unrelated passages, 1 that of
   * the same text. Empty if none can be compared.
   */
  nearest(p: {
    readonly agentId: AgentId;
    readonly query: string;
    readonly limit: number;
  }): Promise<readonly { readonly seq: number; readonly score: number }[]>;
}

const MINUTES_APART = 10;

/** Two consecutive passages belong together: each is also found by the other's words, ranked lower. */
export function areNeighbours(a: Neighbour, b: Neighbour): boolean {
  if (a.runId !== null && a.runId === b.runId) return true;
  return Math.abs(a.createdAt - b.createdAt) <= MINUTES_APART * 60_000;
}

type Neighbour = Pick<Passage, 'runId' | 'createdAt'>;

/** Size limits of blocks and passages. Blocks are in every prompt, so they are few and short. */
export const MAX_BLOCK = 20_000;
export const MAX_BLOCKS = 32;
/** Total for all blocks that one agent sees. */
export const MAX_BLOCKS_TEXT = 100_000;
export const MAX_PASSAGE = 20_000;
export const MAX_TAGS = 20;
export const MAX_QUERY = 10_000;

export const LABEL = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;
export const LABEL_RULE = 'must have 1 to 64 letters, digits, "_", "-" or ".", the first a letter or a digit';
/** Tags are stored in a JSON list and matched as written. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it keeps out.
export const TAG = /^[^\s\x00-\x1f",\\]{1,64}$/;
export const TAG_RULE = 'must have 1 to 64 characters, without spaces, commas, quotes or backslashes';

/** The versions that a writer expects: the ones it has seen, any existing one, or none (it wants to create). */
export type Expected = readonly number[] | 'any' | 'none';

/** Compare and set: throws if the writer has not seen the latest version. */
export function checkExpected(expected: Expected | null, label: string, version: number | null): void {
  if (expected === null) return;
  if (version === null) {
    if (expected === 'none') return;
    throw new SubstratError(
      'precondition_failed',
      `The block "${label}" does not exist, so it cannot have the requested version.`,
    );
  }
  if (expected === 'any' || (expected !== 'none' && expected.includes(version))) return;
  throw new SubstratError(
    'precondition_failed',
    `The block "${label}" is at version ${version}; read it again and retry.`,
  );
}
