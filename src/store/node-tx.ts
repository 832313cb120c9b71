import type { AgentId, NodeId, WorkspaceId } from '../core/ids.ts';
import type { NodeRecord, NodeRequest } from '../core/node.ts';
import type { NodeLoad, NodeView } from './views.ts';

/** The nodes of the fleet. */
export interface Nodes extends Registry, NodeRequests {}

/** Who is there, and which agents are theirs. */
interface Registry {
  /** The database's time on PostgreSQL, so that nodes need not agree on theirs; otherwise the given one. */
  readClock(p: { now: number }): Promise<number>;
  /** Registers a new incarnation of a node. */
  registerNode(node: Omit<NodeRecord, 'stoppedAt' | 'lostAt' | 'drainingAt' | 'seenAt'>): Promise<void>;
  /** A heartbeat. Returns false if the node has another incarnation by now. */
  trySeeNode(p: { id: NodeId; incarnation: string; now: number }): Promise<boolean>;
  /** The daemon stops in good order. */
  tryStopNode(p: { id: NodeId; incarnation: string; now: number }): Promise<boolean>;
  getNode(p: { id: NodeId }): Promise<NodeRecord | null>;
  /** Registered nodes, and unregistered ones that living agents belong to. */
  listNodes(): Promise<NodeView[]>;
  /** Agents that are not terminated and runs that have not ended, by node. */
  listLoads(): Promise<NodeLoad[]>;
  /** Nodes whose heartbeat is missing and that nobody has declared lost. */
  listSilent(p: { now: number }): Promise<NodeRecord[]>;
  /** Returns false if it was seen meanwhile, or somebody else has declared it lost. */
  tryLoseNode(p: { id: NodeId; seenAt: number; now: number }): Promise<boolean>;
  setDraining(p: { id: NodeId; at: number | null }): Promise<void>;
  /** Forgets a node. Its agents are not touched. */
  removeNode(p: { id: NodeId }): Promise<void>;
  /** Agents, workspaces and waiting runs of one node become another's. Returns how many agents. */
  adoptNode(p: { from: NodeId; to: NodeId }): Promise<number>;
  /** The agent and its waiting run become another node's, in another workspace. */
  moveAgent(p: { id: AgentId; nodeId: NodeId; workspaceId: WorkspaceId; workspace: string }): Promise<void>;
}

/** What one node asks of another. */
export interface NodeRequests {
  insertNodeRequest(request: Pick<NodeRequest, 'id' | 'nodeId' | 'kind' | 'asked' | 'createdAt'>): Promise<void>;
  getNodeRequest(p: { id: string }): Promise<NodeRequest | null>;
  /** What was asked of the node and nobody has taken, oldest first. */
  listOpenNodeRequests(p: { nodeId: NodeId }): Promise<NodeRequest[]>;
  /** Only one side takes a request: its node, or the caller that no longer waits. */
  tryTakeNodeRequest(p: { id: string }): Promise<boolean>;
  answerNodeRequest(p: { id: string; answer: unknown }): Promise<void>;
  deleteNodeRequest(p: { id: string }): Promise<void>;
  /** A daemon that starts answers nothing that an earlier one was asked. */
  clearNodeRequests(p: { nodeId: NodeId }): Promise<void>;
}
