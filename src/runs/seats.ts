import type { Agent } from '../core/agent.ts';
import { isExhausted, UNTOLD_LIMIT_MS } from '../core/failure.ts';
import { readChoice } from '../core/provider-choice.ts';
import type { Run } from '../core/run.ts';
import { chooseSeat, isSameSeat, limitOf, type ProviderLimit, type Seat, seated, seatOf } from '../core/seat.ts';
import type { Failure } from './failure.ts';
import type { Tx } from './tx.ts';

/** What this node knows of the providers that agents may use. */
export interface SeatRules {
  /** The names of a provider's accounts; without accounts, an empty list. */
  readonly accounts: (provider: string) => readonly string[];
  /** Whether a provider that would take over is installed with a login. */
  readonly isReady: (seat: Seat) => boolean;
  /** Whether a provider would do what the agent's policies do not simply allow, because it cannot enforce them. */
  readonly refusals: (tx: Tx, agent: Agent) => Promise<(seat: Seat) => boolean>;
  /** A seat as people read it, with the company that gets the conversation. */
  readonly describe: (seat: Seat) => string;
}

export interface TellsPeople {
  tellPerson(tx: Tx, agent: Agent, text: string, now: number): Promise<void>;
}

/** No turn can start: every provider that the agent may use has reached its limit. */
export interface Parked {
  readonly until: number;
  readonly reason: string;
}

/**
 * Chooses what executes the turn, in the transaction that claims it. An agent keeps its seat as long as it can be used.
 * If a limit ends it, the next account of its provider takes over, then the providers of its `fallback`; the person is
 * told. It goes back to its own provider between two requests, never inside one.
 */
export async function takeSeat(
  tx: Tx,
  rules: SeatRules,
  { tellPerson }: TellsPeople,
  agent: Agent,
  run: Run,
  now: number,
): Promise<Agent | Parked> {
  const limits = await tx.limits.listLimitsOf({ nodeId: agent.nodeId, agentId: agent.id, now });
  const seats = await seatsOf(tx, rules, agent);
  const current = seatOf(agent);
  const isMoved = current.provider !== agent.provider;
  const own = isMoved && !(await isInside(tx, run)) ? seats.filter((seat) => seat.provider === agent.provider) : [];
  const stays = seats.some((seat) => isSameSeat(seat, current)) ? [current] : [];
  const found = chooseSeat([...own, ...stays, ...seats], limits, now);
  if (!found) return seated(agent);
  const { seat, from } = found;
  if (from > now) return { until: from, reason: limitOf(limits, seat, now)?.reason ?? '' };
  if (isSameSeat(seat, current)) return seated(agent);
  const changed = await changeSeat(tx, agent, seat);
  const text = noticeOf(rules, agent, { seat, current, limit: limitOf(limits, current, now) });
  if (text !== null) await tellPerson(tx, agent, text, now);
  return seated(changed);
}

/**
 * An attempt met an exhausted limit: remembers it, for the agent alone, or for the account if the proxy saw it or
 * agents of two trees reported it. Returns the failure that the attempt ends with: another provider goes on at once, or
 * the agent rests until the first one can.
 */
export async function reachLimit(
  tx: Tx,
  rules: SeatRules,
  run: Run,
  failure: Failure,
  session: { readonly provider: string; readonly account: string },
  now: number,
): Promise<Failure> {
  if (!isExhausted(failure)) return failure;
  const agent = (await tx.agents.getAgent({ id: run.agentId })) as Agent;
  const { nodeId, id: agentId, treeId } = agent;
  const { provider, account } = session;
  const until = now + (failure.retryAfterMs ?? UNTOLD_LIMIT_MS);
  const grade = failure.metered ? 'metered' : 'reported';
  const limit: ProviderLimit = {
    ...{ nodeId, provider, account, agentId, treeId, until, grade, at: now },
    reason: failure.message,
  };
  await tx.limits.forgetLimits({ before: now });
  await tx.limits.setLimit(limit);
  const others = await tx.limits.listOtherReports({ nodeId, provider, account, treeId, now });
  // What sandboxed programs say can be forged: the shorter of two reports holds.
  const shared = failure.metered ? until : Math.min(until, ...others.map((other) => other.until));
  if (failure.metered || others.length > 0) await tx.limits.setLimit({ ...limit, agentId: '', until: shared });
  const limits = await tx.limits.listLimitsOf({ nodeId, agentId, now });
  const from = chooseSeat(await seatsOf(tx, rules, agent), limits, now)?.from ?? until;
  if (from <= now) return { kind: 'handover', message: failure.message };
  return { ...failure, retryAfterMs: from - now };
}

/** Everything that may execute the agent's turns, the preferred first. */
async function seatsOf(tx: Tx, rules: SeatRules, agent: Agent): Promise<Seat[]> {
  const isRefused = agent.fallback?.length ? await rules.refusals(tx, agent) : () => false;
  const choices = [{ provider: agent.provider, model: agent.model }, ...(agent.fallback ?? []).map(readChoice)];
  return choices.flatMap(({ provider, model }, n) => {
    const accounts = rules.accounts(provider);
    const known = accounts.length === 0 ? [''] : spread(accounts, agent);
    const seats = known.map((account) => ({ provider, model, account }));
    return n === 0 ? seats : seats.filter((seat) => rules.isReady(seat) && !isRefused(seat));
  });
}

/** The accounts, beginning with the agent's own, or with one that depends on the agent: they share the work. */
function spread(accounts: readonly string[], { id, account }: Agent): string[] {
  const own = accounts.indexOf(account);
  const first = own >= 0 ? own : Number.parseInt(id.slice(-6), 16) % accounts.length || 0;
  return [...accounts.slice(first), ...accounts.slice(0, first)];
}

/** A later attempt of a run, or a later run for the same request. */
async function isInside(tx: Tx, run: Run): Promise<boolean> {
  if (run.attempt > 1) return true;
  const { serves } = (await tx.runs.getRun({ id: run.id })) as Run;
  return serves !== null && (await tx.runs.countServing({ agentId: run.agentId, serves })) > 1;
}

async function changeSeat(tx: Tx, agent: Agent, seat: Seat): Promise<Agent> {
  const isOwn = seat.provider === agent.provider && seat.model === agent.model;
  const acting = isOwn
    ? { account: seat.account, actingProvider: null, actingModel: null, actingAccount: '' }
    : {
        account: agent.account,
        actingProvider: seat.provider,
        actingModel: seat.model,
        actingAccount: seat.account,
      };
  // The first account of an agent is not a change.
  const isFirst = isOwn && agent.account === '' && agent.actingProvider === null;
  await tx.agents.setSeat({ id: agent.id, ...acting, seatNew: !isFirst });
  return { ...agent, ...acting };
}

interface Change {
  readonly seat: Seat;
  readonly current: Seat;
  readonly limit: ProviderLimit | null;
}

/** Null if there is nothing to tell: the agent got its first account. */
function noticeOf({ describe }: SeatRules, agent: Agent, { seat, current, limit }: Change): string | null {
  const { handle } = agent;
  const next = describe(seat);
  if (limit === null) {
    const isBack = seat.provider === agent.provider && current.provider !== agent.provider;
    return isBack ? `${handle} works with ${next} again, because its limit has ended.` : null;
  }
  const until = new Date(limit.until).toISOString();
  const reached = `${describe(current)} has reached its limit until ${until}: ${limit.reason}`;
  if (seat.provider === agent.provider) return `${handle} continues with ${next}. ${reached}`;
  return `${next} takes over for ${handle} and gets its conversation. ${reached} Afterwards, ${handle} returns to ${agent.provider} at its next request.`;
}
