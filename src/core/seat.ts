import type { Agent } from './agent.ts';
import type { AgentId, NodeId } from './ids.ts';

/** What executes an agent's turns: a provider with a model, and one of its accounts. */
export interface Seat {
  readonly provider: string;
  readonly model: string | null;
  /** '' for a provider without accounts. */
  readonly account: string;
}

/** Who saw a number or a limit: the proxy or the daemon itself, or the program, whose word it is. */
export type Grade = 'metered' | 'reported';

/** An exhausted limit of an account, or of one agent of it. */
export interface ProviderLimit {
  readonly nodeId: NodeId;
  readonly provider: string;
  readonly account: string;
  /** '' if it holds for all agents of the account. */
  readonly agentId: AgentId;
  readonly treeId: AgentId;
  readonly until: number;
  readonly reason: string;
  readonly grade: Grade;
  readonly at: number;
}

/** The seat that the agent has now. */
export function seatOf(agent: Agent): Seat {
  const { provider, model, account, actingProvider, actingModel, actingAccount } = agent;
  return actingProvider === null
    ? { provider, model, account }
    : { provider: actingProvider, model: actingModel, account: actingAccount };
}

/** The agent as its turns know it: a provider that acts for another one is its provider. */
export function seated(agent: Agent): Agent {
  const seat = seatOf(agent);
  return { ...agent, ...seat, program: seat.provider === agent.provider ? agent.program : null };
}

export function isSameSeat(one: Seat, other: Seat): boolean {
  return one.provider === other.provider && one.account === other.account && one.model === other.model;
}

/** The limit that keeps a seat from being used; null if none does. Of several, the last to end. */
export function limitOf(limits: readonly ProviderLimit[], seat: Seat, now: number): ProviderLimit | null {
  const own = limits.filter(
    ({ provider, account, until }) => provider === seat.provider && account === seat.account && until > now,
  );
  return own.sort((a, b) => b.until - a.until)[0] ?? null;
}

/** The first seat that can be used, or else the one that can be used first, and when. */
export function chooseSeat(
  seats: readonly Seat[],
  limits: readonly ProviderLimit[],
  now: number,
): { readonly seat: Seat; readonly from: number } | null {
  const choices = seats.map((seat) => ({ seat, from: limitOf(limits, seat, now)?.until ?? now }));
  return choices.sort((a, b) => a.from - b.from)[0] ?? null;
}
