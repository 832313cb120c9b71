import type { Agent, OpenRequest, Run } from '../client/client.ts';
import { localTime, span } from '../command-line/time.ts';
import { USER, USER_ID } from '../core/agent.ts';
import { shortId } from '../core/short-id.ts';
import { shorten } from '../core/text.ts';

/** What the words for a state are made of: open requests, and the runs that are running. */
export interface Surroundings {
  readonly requests: readonly OpenRequest[];
  readonly running: readonly Run[];
  readonly now: number;
}

/** An agent's state with its reason: "waiting for ben since 4 min". */
export function describeState(agent: Agent, { requests, running, now }: Surroundings): string {
  const { state, status } = agent;
  if (status) return describeStatus(status, now);
  if (state === 'busy') {
    const run = running.find(({ agentId }) => agentId === agent.id);
    return run ? `busy since ${age(run.startedAt ?? run.createdAt, now)} (run ${shortId(run.id)})` : 'busy';
  }
  if (state !== 'waiting') return state;
  const asked = requests.filter(({ from }) => from === agent.handle);
  const [first] = asked;
  if (!first) return 'waiting';
  const names = [...new Set(asked.map(({ to }) => (to === USER_ID ? 'you' : to)))];
  return `waiting for ${names.join(', ')} since ${age(first.createdAt, now)}`;
}

/** What holds an agent back: "parked until 17:30: usage limit". */
function describeStatus({ kind, reason, since, until }: NonNullable<Agent['status']>, now = Date.now()): string {
  const when = until === null ? (since === null ? '' : ` since ${age(since, now)}`) : ` until ${localTime(until, now)}`;
  return `${kind}${when}${reason === null ? '' : `: ${shorten(reason.replace(/\s+/g, ' '), 160)}`}`;
}

/** Parents before their children, each with its depth. Children of agents that are not listed come first. */
export function asTree(agents: readonly Agent[]): { readonly agent: Agent; readonly depth: number }[] {
  const listed = new Set(agents.map(({ id }) => id));
  const below = Map.groupBy(agents, ({ parentId }) => (parentId !== null && listed.has(parentId) ? parentId : null));
  const walk = (parent: string | null, depth: number): { agent: Agent; depth: number }[] =>
    (below.get(parent) ?? []).flatMap((agent) => [{ agent, depth }, ...walk(agent.id, depth + 1)]);
  return walk(null, 0);
}

export function nameOf(handle: string): string {
  return handle === USER_ID ? USER : handle;
}

function age(time: string, now: number): string {
  return span(now - Date.parse(time));
}
