import { type Agent, type AgentState, keyOf, SYSTEM_ID, USER_ID } from '../core/agent.ts';
import { isAutomatic } from '../core/delivery.ts';
import { SubstratError } from '../core/errors.ts';
import { newId } from '../core/id.ts';
import type { AgentId } from '../core/ids.ts';
import type { Request } from '../core/message.ts';
import type { Run } from '../core/run.ts';
import { isAbout, type Subscription, type Transition } from '../core/subscription.ts';
import { shorten } from '../core/text.ts';
import { openDm } from './channels.ts';
import { post } from './post.ts';
import type { Tx } from './tx.ts';

/**
 * States are derived, so their changes are where these functions are called: a run's first start, its end, the closing of the last
 * request that an agent waits for, and its termination. Retries are not changes. A run that carries nothing but state notices and
 * reminders makes no notices, so that two agents that watch each other do not keep each other going.
 */

const MOST_SUBSCRIPTIONS = 32;

/** Tells the agent of state changes of another one, one hop away. The same subscription twice is one. */
export async function subscribe(
  tx: Tx,
  { agent, run }: { readonly agent: Agent; readonly run: Run },
  wanted: Transition & { readonly name: string; readonly once: boolean },
  now: number,
): Promise<string> {
  const { name, once, fromState, toState } = wanted;
  const parentId = agent.parentId ?? '';
  const subject = await tx.agents.getNeighbour({ id: agent.id, parentId, nameKey: keyOf(name) });
  if (!subject) {
    throw new SubstratError('not_found', `"${shorten(name)}" is not your parent, a child or a sibling.`);
  }
  const own = await tx.subscriptions.listSubscriptions({ agentId: agent.id });
  const same = own.find(
    (one) =>
      one.subjectId === subject.id && one.fromState === fromState && one.toState === toState && one.once === once,
  );
  if (same) return same.id;
  if (own.length >= MOST_SUBSCRIPTIONS) {
    const message = `You have ${MOST_SUBSCRIPTIONS} subscriptions. End one with unsubscribe first.`;
    throw new SubstratError('cap_reached', message);
  }
  const id = newId();
  const { chainDepth, payerId } = run;
  const about = { agentId: agent.id, subjectId: subject.id, fromState, toState, once };
  await tx.subscriptions.insertSubscription({ id, ...about, chainDepth, payerId, messageId: null, createdAt: now });
  return id;
}

export async function unsubscribe(tx: Tx, agent: Agent, id: string): Promise<void> {
  const found = await tx.subscriptions.getSubscription({ id });
  if (found?.agentId !== agent.id) throw new SubstratError('not_found', `You have no subscription ${shorten(id)}.`);
  await tx.subscriptions.deleteSubscription({ id });
}

/** Called when the first attempt of a run begins. */
export async function tellBegun(tx: Tx, run: Run, now: number): Promise<void> {
  const watching = await watchersOf(tx, run);
  if (watching.length === 0) return;
  // What it carries decided about its chain after it was claimed.
  const begun = await tx.runs.getRun({ id: run.id });
  const from = await restingState(tx, run.agentId);
  await tell(tx, watching, { agentId: run.agentId, from, to: 'busy', run: begun }, now);
}

/** Called when a run has ended for good, whatever its outcome. One that never began changed nothing. */
export async function tellEnded(tx: Tx, run: Run, now: number): Promise<void> {
  const watching = run.attempt === 0 ? [] : await watchersOf(tx, run);
  if (watching.length === 0) return;
  await tell(tx, watching, { agentId: run.agentId, from: 'busy', to: await restingState(tx, run.agentId), run }, now);
}

/** Called when a request has been closed: its asker may wait for nobody else. */
export async function tellAnswered(tx: Tx, { askerId, messageId: id }: Request, now: number): Promise<void> {
  const agentId = askerId as AgentId;
  const watching = await tx.subscriptions.listSubscribers({ subjectId: agentId });
  if (watching.length === 0) return;
  const [live, asker, message] = [
    await tx.runs.getLiveRun({ agentId }),
    await tx.agents.getAgent({ id: agentId }),
    await tx.messages.getMessage({ id }),
  ];
  if (asker?.terminatedAt !== null || (live?.attempt ?? 0) > 0) return;
  if ((await restingState(tx, agentId)) === 'waiting' || (await isQuiet(tx, message?.runId ?? null))) return;
  const run = message?.runId ? await tx.runs.getRun({ id: message.runId }) : null;
  await tell(tx, watching, { agentId, from: 'waiting', to: 'idle', run }, now);
}

/** The state that an agent leaves when it is terminated now; null if nobody wants to know. */
export async function lastState(tx: Tx, agentId: string, live: Run | null): Promise<AgentState | null> {
  if ((await tx.subscriptions.listSubscribers({ subjectId: agentId })).length === 0) return null;
  return (live?.attempt ?? 0) > 0 ? 'busy' : restingState(tx, agentId);
}

/** An agent was terminated: notifies its subscribers and ends the subscriptions. */
export async function endSubscriptions(tx: Tx, agentId: string, from: AgentState | null, now: number): Promise<void> {
  const watching = await tx.subscriptions.listSubscribers({ subjectId: agentId });
  if (from !== null) await tell(tx, watching, { agentId, from, to: 'terminated', run: null }, now);
  const left = [
    ...(await tx.subscriptions.listSubscribers({ subjectId: agentId })),
    ...(await tx.subscriptions.listSubscriptions({ agentId })),
  ];
  for (const id of new Set(left.map((one) => one.id))) await tx.subscriptions.deleteSubscription({ id });
}

interface Change {
  readonly agentId: string;
  readonly from: AgentState;
  readonly to: AgentState;
  /** What changed it: the notice continues its chain. */
  readonly run: Run | null;
}

async function tell(tx: Tx, watching: readonly Subscription[], change: Change, now: number): Promise<void> {
  const subject = (await tx.agents.getAgent({ id: change.agentId })) as Agent;
  const text = `[state] ${subject.name}: ${change.from} -> ${change.to}`;
  for (const [agentId, own] of Map.groupBy(watching, (one) => one.agentId)) {
    const matching = own.filter((one) => isAbout(one, change.from, change.to));
    const agent = (await tx.agents.getAgent({ id: agentId })) as Agent;
    const [first] = matching;
    if (!first || agent.terminatedAt !== null) continue;
    const messageId = (await unreadNotice(tx, own, text)) ?? (await notify(tx, agent, text, change.run ?? first, now));
    for (const { id, once } of matching) {
      if (once) await tx.subscriptions.deleteSubscription({ id });
      else await tx.subscriptions.setNotified({ id, messageId });
    }
  }
}

/** Notices about one agent that were not read are one: the newest. Returns it if it says the same. */
async function unreadNotice(tx: Tx, own: readonly Subscription[], text: string): Promise<string | null> {
  let same: string | null = null;
  for (const id of new Set(own.map(({ messageId }) => messageId))) {
    if (id === null || (await tx.deliveries.listPendingRecipients({ messageId: id })).length === 0) continue;
    if ((await tx.messages.getMessage({ id }))?.text === text) same = id;
    else await tx.deliveries.killPendingDelivery({ messageId: id });
  }
  return same;
}

async function notify(
  tx: Tx,
  agent: Agent,
  text: string,
  { chainDepth, payerId }: Pick<Run, 'chainDepth' | 'payerId'>,
  now: number,
): Promise<string> {
  const channelId = await openDm(tx, agent, { id: USER_ID, handle: USER_ID }, now);
  const notice = { channelId, authorId: SYSTEM_ID, runId: null, kind: 'notice', text, cause: 'state' } as const;
  const recipients = [{ agentId: agent.id, kind: 'news' }] as const;
  return post(tx, { ...notice, chainDepth: chainDepth + 1, payerId, recipients }, now);
}

/** Those who watch the agent of a run, if the run makes notices. */
async function watchersOf(tx: Tx, { id, agentId }: Run): Promise<readonly Subscription[]> {
  const watching = await tx.subscriptions.listSubscribers({ subjectId: agentId });
  return watching.length > 0 && (await isQuiet(tx, id)) ? [] : watching;
}

async function isQuiet(tx: Tx, runId: string | null): Promise<boolean> {
  return runId !== null && isAutomatic(await tx.deliveries.listHeadsOfRun({ runId }));
}

async function restingState(tx: Tx, askerId: string): Promise<'waiting' | 'idle'> {
  return (await tx.requests.listOpenRequestsFrom({ askerId })).length > 0 ? 'waiting' : 'idle';
}
