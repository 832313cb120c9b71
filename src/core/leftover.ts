import type { AgentId } from './ids.ts';

/** What an agent has left behind: its home on a node, or the ref of its git workspace on a remote. */
export interface Leftover {
  /** The id of the node, or the digest of the remote's address. */
  readonly site: string;
  readonly agentId: AgentId;
  /** Of the ref; null for a home. */
  readonly hash: string | null;
  readonly at: number;
}

const KEEP_MS = 7 * 24 * 3_600_000;

/** Whether it is kept no longer: something in it may have been needed. */
export function isOver({ at }: Pick<Leftover, 'at'>, now: number): boolean {
  return now - at > KEEP_MS;
}
