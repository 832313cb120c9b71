import { SubstratError } from './errors.ts';
import type { AgentId, NodeId, RunId, WorkspaceId } from './ids.ts';
import type { Metadata } from './metadata.ts';
import type { Scope } from './scope.ts';
import { shorten } from './text.ts';

export interface Agent {
  readonly id: AgentId;
  /** The root of its tree. */
  readonly treeId: AgentId;
  readonly parentId: AgentId | null;
  readonly depth: number;
  readonly name: string;
  readonly nameKey: string;
  readonly handle: string;
  readonly role: string;
  readonly instructions: string;
  readonly provider: string;
  readonly model: string | null;
  readonly program: string | null;
  /** Providers (`codex`, `llm:ollama/qwen3`) that its children may have in place of its own; null: see its ancestors. */
  readonly maySpawn: readonly string[] | null;
  /** The providers that take over, in this order, while its own has reached a limit. Not inherited. */
  readonly fallback: readonly string[] | null;
  /** The account of its provider that it uses; '' if the provider has none. */
  readonly account: string;
  /** What executes its turns in place of its provider (`core/seat.ts`); null: its provider does. */
  readonly actingProvider: string | null;
  readonly actingModel: string | null;
  readonly actingAccount: string;
  /** No turn has ended since another account or provider took over: the first failure does not count. */
  readonly seatNew: boolean;
  /** The directory that the agent works in: its workspace or a directory inside it. */
  readonly workspace: string;
  readonly workspaceId: WorkspaceId | null;
  /** The scope given to this agent. The effective scope is the intersection with those of its ancestors. */
  readonly tools: Scope;
  /** The persona it was created from; null if it only has instructions. */
  readonly persona: string | null;
  readonly personaArgs: Readonly<Record<string, string>> | null;
  /** Counts the changes of its settings, from 1. */
  readonly revision: number;
  readonly nodeId: NodeId;
  /** The run that spawned it. */
  readonly spawnedBy: RunId | null;
  /** The attempt that spawned it has ended, so it may run. */
  readonly ready: boolean;
  /** The agent terminates when its turn ends. */
  readonly completing: boolean;
  /** No attempt starts before this time. `rests` counts consecutive delays. */
  readonly restUntil: number;
  readonly rests: number;
  /** The person knows that it rests. */
  readonly restTold: boolean;
  /** Paused: no attempt starts until a person resumes it. */
  readonly pausedAt: number | null;
  readonly pausedReason: string | null;
  /** Gated by its parent: no turn begins, except one if `permitted`. `gateTold`: the parent knows that something waits. */
  readonly gatedAt: number | null;
  readonly permitted: boolean;
  readonly gateTold: boolean;
  /** What its parent noted about it. */
  readonly metadata: Metadata;
  readonly createdAt: number;
  readonly terminatedAt: number | null;
}

export type AgentState = 'idle' | 'busy' | 'waiting' | 'terminated';

/** The name by which agents address the owner. */
export const USER = 'USER';
export const USER_ID = 'user';
export const SYSTEM_ID = 'system';

export const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;
const RESERVED = new Set(['user', 'system', 'substrat']);

/**
 * terminated: nothing of it runs again. busy: one of its runs is running. waiting: it asked something and not every
 * reply has arrived; while it waits for an agent, news does not wake it. idle: none of these.
 */
export function agentState(agent: { terminatedAt: number | null; running: number; asking: number }): AgentState {
  if (agent.terminatedAt !== null) return 'terminated';
  if (agent.running > 0) return 'busy';
  return agent.asking > 0 ? 'waiting' : 'idle';
}

export function checkName(name: string): void {
  if (!NAME.test(name)) {
    throw new SubstratError(
      'bad_request',
      `"${shorten(name)}" is not a valid name. Use 1 to 64 letters, digits, "_" or "-", starting with a letter or digit.`,
    );
  }
  if (RESERVED.has(name.toLowerCase())) {
    throw new SubstratError('bad_request', `"${name}" is reserved; choose another name.`);
  }
}

/** Names and handles are case-insensitive. */
export function keyOf(name: string): string {
  return name.toLowerCase();
}
