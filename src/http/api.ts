import type { Agent } from '../core/agent.ts';
import type { BudgetView, BudgetWish } from '../core/budget.ts';
import type { Live } from '../core/live.ts';
import type { PassageMeaning } from '../core/memory.ts';
import type { NodeRecord, NodeState } from '../core/node.ts';
import type { PersonaPrompt } from '../core/persona.ts';
import type { Arguments } from '../core/question.ts';
import type { ProviderLimit } from '../core/seat.ts';
import type { Settings } from '../core/settings.ts';
import type { Tracer } from '../core/tracing.ts';
import type { Pricing } from '../core/usage.ts';
import type { Workspace } from '../core/workspace.ts';
import type { Deleted } from '../messaging/deletion.ts';
import type { MessagingRules } from '../messaging/send.ts';
import type { Personas } from '../personas/personas.ts';
import type { AgentView, NodeLoad, Store, Tx } from '../store/store.ts';
import type { Answer } from '../tools/answer.ts';
import type { ServedTools } from '../tools/served.ts';
import type { WorkspaceRules } from '../workspaces/access.ts';
import type { Diff } from '../workspaces/diff.ts';
import type { FilePage, Listed } from '../workspaces/files.ts';

/** What the API needs from the daemon. */
export interface Api {
  readonly store: Store;
  readonly clock: () => number;
  readonly version: string;
  readonly live: Pick<Live, 'subscribe'>;
  readonly home: { mcpConfig(agentId: string): string };
  readonly config: {
    readonly events: { readonly heartbeatMs: number; readonly patienceMs: number };
    readonly daemon: { readonly timeZone: string };
  };
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
    readonly limits: string;
    readonly commits: number;
    readonly notices: string[];
  }>;
  /** What `substrat doctor` finds on this node. */
  examine(): Promise<readonly Finding[]>;
  /** The newest entries of the log, newest first. */
  readLog(wish: LogWish): Promise<readonly LogEntry[]>;
  /** The id of this node. */
  readonly nodeId: string;
  /** Asks another node to answer a call, which takes up to 2 s, or fails. */
  askNode(nodeId: string, call: NodeCall): Promise<unknown>;
  listNodes(): Promise<readonly ShownNode[]>;
  /** What can run agents on this node. */
  listProviders(): Promise<readonly ShownProvider[]>;
  /** By name or id. */
  findNode(reference: string): Promise<ShownNode>;
  /** Forgets a node that no longer runs and has no agents. */
  removeNode(reference: string): Promise<ShownNode>;
  adoptNode(wish: { readonly id: string; readonly force: boolean }): Promise<{ agents: number; workspaces: number }>;
  /** The node for a new agent. */
  placeAgent(wish: AgentWish): Promise<string>;
  /** `write` executes the effect, or finds that it was executed before. */
  addAgent(wish: AgentWish, write: WriteOnce): Promise<AgentView>;
  /** Reads the configuration again and reconciles members and channels. */
  apply(wish: ApplyWish): Promise<readonly ApplyItem[]>;
  /** `alongside` is written in the same transaction, given the new settings. */
  changeAgent(
    agentId: string,
    wish: AgentChange,
    options: ChangeOptions,
    alongside?: (tx: Tx, after: Settings) => Promise<void>,
  ): Promise<AgentChanged>;
  /** The current prompt of the agent's persona; null if it has none. */
  askPersona(agent: Agent): Promise<PersonaPrompt | null>;
  /** Validates arguments that a person wrote for a tool. */
  readArguments(agentId: string, tool: string, args: unknown): Promise<{ args: Arguments; digest: string }>;
  readonly workspaces: WorkspaceRules;
  /** Creates the directory of a workspace, or removes that of a deleted one. */
  settleWorkspace(workspace: Workspace): Promise<void>;
  /** Reads a file or a directory in the workspace of an agent of this node. */
  readFile(agent: Agent, path: string, offset: number): Promise<Listed | FilePage>;
  /** What an agent of this node has changed in its git workspace. */
  diffAgent(agent: Agent): Promise<Diff>;
  moveAgent(reference: string, wish: MoveWish): Promise<AgentView>;
  /** A node that drains starts nothing new. */
  setDraining(reference: string, draining: boolean): Promise<ShownNode>;
  terminateAgent(agentId: string, reason: string): Promise<void>;
  /** Removes a terminated agent with everything of it and of all below it. */
  deleteAgent(agentId: string): Promise<Deleted>;
  readonly budgets: {
    list(tx: Tx): Promise<readonly BudgetView[]>;
    set(tx: Tx, wish: BudgetWish): Promise<BudgetView>;
    remove(tx: Tx, id: string): Promise<void>;
    /** Does what the owner answered to a question about a budget; nothing if it was about something else. */
    answer(tx: Tx, questionId: string, text: string): Promise<boolean>;
  };
  /** Its messages wait. `now` ends the attempt in progress, which does not count. */
  pauseAgent(agentId: string, wish: { readonly reason: string; readonly now: boolean }): Promise<AgentView>;
  resumeAgent(agentId: string): Promise<AgentView>;
  cancelRun(runId: string, reason: string): Promise<void>;
  restartRun(runId: string): Promise<void>;
  extendRun(runId: string, until: number): Promise<void>;
  /** Null where embeddings are disabled. */
  readonly passageMeaning: PassageMeaning | null;
  readonly knowledgeDoor: KnowledgeDoor;
}

export interface Finding {
  readonly what: string;
  readonly state: 'ok' | 'warning' | 'problem';
  readonly detail: string;
  /** How to fix it. */
  readonly mend?: string;
}

export interface LogWish {
  /** Of this level and above. */
  readonly level: LogEntry['level'];
  /** Entries that contain it, in any case; empty: all. */
  readonly text: string;
  readonly limit: number;
}

export interface LogEntry {
  readonly at: number;
  readonly level: 'info' | 'warn' | 'error';
  readonly message: string;
  readonly details: Readonly<Record<string, string>>;
}

/** New settings of an agent; what is left out stays. */
export interface AgentChange {
  readonly name?: string | undefined;
  readonly role?: string | undefined;
  readonly instructions?: string | undefined;
  readonly provider?: string | undefined;
  readonly model?: string | null | undefined;
  readonly program?: string | null | undefined;
  readonly maySpawn?: readonly string[] | null | undefined;
  readonly fallback?: readonly string[] | null | undefined;
  /** The name of a workspace or an absolute path. */
  readonly workspace?: string | undefined;
  readonly tools?: readonly string[] | null | undefined;
  /** Without `tools`, the agent gets the scope of the persona. */
  readonly persona?: string | null | undefined;
  readonly arguments?: Readonly<Record<string, string>> | undefined;
}

export interface ChangeOptions {
  /** Change only one of these revisions; null: any. */
  readonly expected: readonly number[] | null;
  /** A turn in progress starts again with the new settings. */
  readonly now: boolean;
}

export interface AgentChanged {
  readonly agent: AgentView;
  readonly changed: readonly string[];
  /** The turn in progress, and the settings that it keeps until it ends. */
  readonly running: { readonly runId: string; readonly keeps: readonly string[] } | null;
  /** The attempt that was ended and starts again. */
  readonly interrupted: string | null;
}

/** How the configuration is applied. */
export interface ApplyWish {
  /** Only find out what would change. */
  readonly dryRun: boolean;
  /** The file wins where people changed the same. */
  readonly force: boolean;
  /** Names of members and channels that ended and are created again. */
  readonly recreate: readonly string[];
}

/** A difference between the configuration and what there is. */
export interface ApplyItem {
  readonly kind: 'member' | 'channel' | 'persona' | 'person' | 'section';
  /** The name of its table. */
  readonly name: string;
  /** `conflict`: the file and people changed it, so it stays. `left`: it stays for the reason in `note`. */
  readonly action: 'create' | 'change' | 'conflict' | 'left';
  readonly field: string | null;
  readonly from: string | null;
  readonly to: string | null;
  readonly note: string | null;
}

/** A request of the owner that another node answers. */
export interface NodeCall {
  readonly method: string;
  readonly path: string;
  readonly body: object | null;
  /** The Idempotency-Key. */
  readonly key: string | null;
  /** The If-Match. */
  readonly match?: string | null;
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

/** What is known of a provider without asking a service. */
export interface ShownProvider {
  readonly name: string;
  readonly found: boolean;
  readonly version: string | null;
  readonly problem: string | null;
  readonly login: 'key' | 'login' | 'none' | 'not_needed';
  readonly accounts: readonly string[];
  readonly isDefault: boolean;
  readonly pricing: Pricing;
  readonly limits: readonly (Pick<ProviderLimit, 'until' | 'reason' | 'grade'> & {
    readonly account: string | null;
    /** Null if it holds for all agents of the account. */
    readonly agent: string | null;
  })[];
}

/** The knowledge part of the API: its tools, the personas, and MCP. */
export interface KnowledgeDoor {
  readonly tools: ServedTools;
  readonly personas: () => Promise<Personas>;
  mcp(request: Request): Promise<Response>;
  /** Searches for `ctx search` on the owner's socket. */
  readonly answer: ((given: unknown) => Promise<Answer>) | null;
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
  readonly maySpawn: readonly string[] | null;
  readonly fallback: readonly string[] | null;
  /** The name of a workspace or an absolute path. */
  readonly workspace: string | null;
  /** Clone this repository into a git workspace. */
  readonly clone: string | null;
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
