import type { Agent } from './agent.ts';
import type { ProgressState } from './progress.ts';
import type { RunState } from './run.ts';

/**
 * Why an agent that could act does not.
 * paused: it takes no turn until a person resumes it.
 * resting: its provider refused or could not start; no attempt starts before `until`.
 * parked: its last attempt failed; the next one starts at `until`.
 * gated: its parent lets no turn of it begin.
 * stranded: its node is dead, and its workspace is there.
 * stopped: a budget that its turn needs is used up, or reserved by other turns.
 * quiet, stalled: its turn shows no sign of life. looping: its turn repeats itself (`progress.ts`). It is not held back.
 * queued: its turn waits for a slot, for the turn of others, or for the owner's word when its tree reached its cap.
 */
export const STATUS_KINDS = [
  'paused',
  'stranded',
  'stalled',
  'looping',
  'quiet',
  'resting',
  'parked',
  'gated',
  'stopped',
  'queued',
] as const;
export type StatusKind = (typeof STATUS_KINDS)[number];

export interface AgentStatus {
  readonly kind: StatusKind;
  /** For people; null if there is nothing to say beyond the kind. */
  readonly reason: string | null;
  /** Null if the time was not recorded: it began before version 0.2. */
  readonly since: number | null;
  /** When it ends automatically; null if unknown. */
  readonly until: number | null;
}

/** What a status is derived from: the agent, and its live run. */
export interface Standing
  extends Pick<Agent, 'terminatedAt' | 'pausedAt' | 'pausedReason' | 'restUntil' | 'gatedAt' | 'permitted'> {
  /** The name of its node; null if it never registered. */
  readonly nodeName: string | null;
  /** When its node was lost. */
  readonly nodeLostAt: number | null;
  readonly runState: RunState | null;
  readonly runCreatedAt: number | null;
  readonly runNotBefore: number | null;
  readonly runFailedAt: number | null;
  /** How its last attempt failed. */
  readonly runError: string | null;
  /** The budget that its run waits for. */
  readonly runBudgetId: string | null;
  /** Null while its turn works. */
  readonly runProgress: Exclude<ProgressState, 'working'> | null;
  readonly runProgressReason: string | null;
  readonly runProgressSince: number | null;
}

/** Returns null if nothing blocks the agent: it takes a turn now, or has nothing to do. */
export function agentStatus(agent: Standing, now: number): AgentStatus | null {
  if (agent.terminatedAt !== null) return null;
  if (agent.pausedAt !== null) {
    return { kind: 'paused', reason: agent.pausedReason, since: agent.pausedAt, until: null };
  }
  if (agent.nodeLostAt !== null) {
    const reason = `Its node ${agent.nodeName ?? ''} sends no heartbeat. Start it again, or run \`substrat agent move\`.`;
    return { kind: 'stranded', reason, since: agent.nodeLostAt, until: null };
  }
  if (agent.runState === 'running') {
    if (agent.runProgress === null) return null;
    return { kind: agent.runProgress, reason: agent.runProgressReason, since: agent.runProgressSince, until: null };
  }
  if (agent.restUntil > now) {
    return { kind: 'resting', reason: agent.runError, since: agent.runFailedAt, until: agent.restUntil };
  }
  if (agent.gatedAt !== null && !agent.permitted && !(agent.runFailedAt !== null && agent.runState === 'created')) {
    return { kind: 'gated', reason: 'Its parent lets no turn of it begin.', since: agent.gatedAt, until: null };
  }
  if (agent.runState !== 'created') return null;
  if (agent.runBudgetId !== null) {
    return { kind: 'stopped', reason: agent.runError, since: agent.runFailedAt, until: null };
  }
  const notBefore = agent.runNotBefore ?? 0;
  if (notBefore > now) return { kind: 'parked', reason: agent.runError, since: agent.runFailedAt, until: notBefore };
  const since = Math.max(agent.runCreatedAt ?? 0, notBefore, agent.restUntil);
  return { kind: 'queued', reason: agent.runError, since, until: null };
}

/** As the API, events and tools show it. */
export function showStatus(status: AgentStatus | null) {
  const time = (at: number | null) => (at === null ? null : new Date(at).toISOString());
  return status && { ...status, since: time(status.since), until: time(status.until) };
}

/** Why nothing that is written to an agent starts a turn for now. */
export function heldState({ pausedAt, gatedAt }: Pick<Standing, 'pausedAt' | 'gatedAt'>): 'paused' | 'gated' | null {
  return pausedAt !== null ? 'paused' : gatedAt !== null ? 'gated' : null;
}
