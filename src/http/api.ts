import type { Agent } from '../core/agent.ts';
import type { Live } from '../core/live.ts';
import type { NodeRecord, NodeState } from '../core/node.ts';
import type { PersonaPrompt } from '../core/persona.ts';
import type { Tracer } from '../core/tracing.ts';
import type { Workspace } from '../core/workspace.ts';
import type { MessagingRules } from '../messaging/send.ts';
import type { Personas } from '../personas/personas.ts';
import type { AgentView, NodeLoad, Store, Tx } from '../store/store.ts';
import type { ServedTools } from '../tools/served.ts';
import type { WorkspaceRules } from '../workspaces/access.ts';

/** What the API needs from the daemon. */
export interface Api {
  readonly store: Store;
  readonly clock: () => number;
  readonly version: string;
  readonly live: Live;
  readonly home: { mcpConfig(agentId: string): string };
  readonly config: { readonly events: { readonly heartbeatMs: number; readonly patienceMs: number } };
  readonly rules: MessagingRules;
  readonly log: { error(details: object, message: string): void };
  /** Null if nothing is traced. */
  readonly tracer: Tracer | null;
  status(): Promise<{
    readonly pid: number;
    readonly home: string;
    readonly config: string | null;
    readonly store: string;
    readonly version: string;
    readonly url: string | null;
    readonly sandbox: 'bwrap' | 'none';
    readonly sandboxProblem: string | null;
    readonly commits: number;
    readonly notices: string[];
  }>;
  /** The id of this node. */
  readonly nodeId: string;
  /** Asks another node to answer a call, which takes up to 2 s, or fails. */
  askNode(nodeId: string, call: NodeCall): Promise<unknown>;
  listNodes(): Promise<readonly ShownNode[]>;
  /** By name or id. */
  findNode(reference: string): Promise<ShownNode>;
  /** Forgets a node that no longer runs and has no agents. */
  removeNode(reference: string): Promise<ShownNode>;
  adoptNode(wish: { readonly id: string; readonly force: boolean }): Promise<{ agents: number; workspaces: number }>;
  /** The node for a new agent. */
  placeAgent(wish: AgentWish): Promise<string>;
  /** `write` executes the effect, or finds that it was executed before. */
  addAgent(wish: AgentWish, write: WriteOnce): Promise<AgentView>;
  /** The current prompt of the agent's persona; null if it has none. */
  askPersona(agent: Agent): Promise<PersonaPrompt | null>;
  readonly workspaces: WorkspaceRules;
  /** Creates the directory of a workspace, or removes that of a deleted one. */
  settleWorkspace(workspace: Workspace): Promise<void>;
  moveAgent(reference: string, wish: MoveWish): Promise<AgentView>;
  /** A node that drains starts nothing new. */
  setDraining(reference: string, draining: boolean): Promise<ShownNode>;
  terminateAgent(agentId: string, reason: string): Promise<void>;
  resumeAgent(agentId: string): Promise<AgentView>;
  cancelRun(runId: string, reason: string): Promise<void>;
  readonly knowledgeDoor: KnowledgeDoor;
}

/** A request of the owner that another node answers. */
export interface NodeCall {
  readonly method: string;
  readonly path: string;
  readonly body: object | null;
  /** The Idempotency-Key. */
  readonly key: string | null;
}

/** Where an agent moves, and whether it leaves its files and its session behind. */
export interface MoveWish {
  readonly node: string;
  readonly withoutWorkspace: boolean;
}

/** A daemon that has used the store, or that agents belong to. */
export interface ShownNode extends Omit<NodeLoad, 'id'> {
  readonly id: string;
  readonly record: NodeRecord | null;
  readonly state: NodeState;
  /** Whether it is this one. */
  readonly self: boolean;
}

/** The knowledge part of the API: its tools, the personas, and MCP. */
export interface KnowledgeDoor {
  readonly tools: ServedTools;
  readonly personas: () => Promise<Personas>;
  mcp(request: Request): Promise<Response>;
  close(): Promise<void>;
}

/** Stores an agent, and optionally what belongs to it. */
export type WriteOnce = (effect: (tx: Tx) => Promise<AgentView>) => Promise<Posted<AgentView>>;

export interface Posted<T> {
  readonly value: T;
  /** False if an earlier post with the same key had the effect. */
  readonly fresh: boolean;
}

/** The settings of a new agent from a person or the configuration; null means not given. */
export interface AgentWish {
  readonly name: string;
  readonly parent: string | null;
  readonly role: string | null;
  readonly instructions: string;
  readonly provider: string | null;
  readonly model: string | null;
  readonly program: string | null;
  /** The name of a workspace or an absolute path. */
  readonly workspace: string | null;
  /** Create a git worktree of the repository there. */
  readonly worktree: boolean;
  readonly tools: readonly string[] | null;
  /** The persona it is created from. Without `tools`, it gets the persona's scope. */
  readonly persona: string | null;
  readonly arguments: Readonly<Record<string, string>>;
  /** Name or id of the node. */
  readonly node: string | null;
  /** It is created on a node with all of these. */
  readonly labels: readonly string[];
}
