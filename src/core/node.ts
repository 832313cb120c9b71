import type { NodeId } from './ids.ts';

/** A daemon that has used the store. */
export interface NodeRecord {
  readonly id: NodeId;
  /** `[node] name`, or the host's name; no other node has it. */
  readonly name: string;
  /** Null if it last ran with a version before 0.2; so are the version and the start. */
  readonly host: string | null;
  readonly home: string;
  /** A new id at each start of the daemon. What an earlier incarnation still writes matches nothing. */
  readonly incarnation: string | null;
  readonly version: string | null;
  readonly labels: readonly string[];
  /** The providers whose programs are installed there. */
  readonly providers: readonly string[];
  /** `[node] shared`: directories that other nodes with the same entry reach at the same path. */
  readonly shared: readonly string[];
  /** Where it pushes work in progress of git workspaces: a digest of `[node] wip_remote`. */
  readonly wipRemote: string | null;
  readonly slots: number;
  /** After this time without a heartbeat it is dead. */
  readonly deadAfterMs: number;
  readonly startedAt: number | null;
  /** Its last heartbeat, by the database's clock. */
  readonly seenAt: number;
  /** The same moment by its own clock. */
  readonly clockAt: number | null;
  /** It was stopped in good order. */
  readonly stoppedAt: number | null;
  /** Another node noticed that its heartbeat is missing. */
  readonly lostAt: number | null;
  /** It starts nothing new. */
  readonly drainingAt: number | null;
}

/**
 * alive: it sends heartbeats and starts runs. draining: it sends heartbeats, finishes its runs and starts none.
 * stopped: its daemon was stopped in good order. dead: its heartbeat is missing, or it never registered.
 */
export const NODE_STATES = ['alive', 'draining', 'stopped', 'dead'] as const;
export type NodeState = (typeof NODE_STATES)[number];

export function nodeState(
  node: Pick<NodeRecord, 'seenAt' | 'deadAfterMs' | 'stoppedAt' | 'lostAt' | 'drainingAt'>,
  now: number,
): NodeState {
  if (node.stoppedAt !== null) return 'stopped';
  if (node.lostAt !== null || now - node.seenAt > node.deadAfterMs) return 'dead';
  return node.drainingAt === null ? 'alive' : 'draining';
}

/** What one node asks of another, which answers within a short time or not at all. */
export interface NodeRequest {
  readonly id: string;
  readonly nodeId: NodeId;
  readonly kind: 'http' | 'look';
  readonly asked: unknown;
  readonly state: 'open' | 'taken' | 'answered';
  readonly answer: unknown;
  readonly createdAt: number;
}
