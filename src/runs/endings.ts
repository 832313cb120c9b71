import type { Agent } from '../core/agent.ts';
import type { Attempt } from '../core/attempt.ts';
import { SubstratError } from '../core/errors.ts';
import { delayBefore, isExhausted, retryRules } from '../core/failure.ts';
import type { Message } from '../core/message.ts';
import { addFailedAttempt, type Run, type StopReason } from '../core/run.ts';
import { agentStatus, showStatus } from '../core/status.ts';
import { shorten } from '../core/text.ts';
import type { SavedWork } from '../core/wip.ts';
import type { RunEnd } from '../store/store.ts';
import type { ActiveAttempt } from './attempt.ts';
import { type BudgetTalk, park, unparkAll } from './budget-parking.ts';
import type { Failure } from './failure.ts';
import { inject } from './start.ts';
import type { Tx } from './tx.ts';

const SHORT_REST_MS = 60_000;

/** The effects of a run's end on messages; wired by the daemon. */
export interface Correspondence extends BudgetTalk {
  /** Reads together what the end of a run will look at. */
  foresee(tx: Tx, run: Run): Promise<void>;
  answerServed(tx: Tx, run: Run, finalText: string, now: number): Promise<void>;
  /** Sends its final text to the authors of the broadcasts it carried. Returns whether anybody gets it. */
  answerBroadcasts(tx: Tx, run: Run, finalText: string, now: number): Promise<boolean>;
  /** Closes broadcasts that only waited for this agent. */
  settleBroadcasts(tx: Tx, agentId: string, now: number): Promise<void>;
  failServed(tx: Tx, run: Run, reason: string, now: number): Promise<void>;
  tellPayer(tx: Tx, agent: Agent, personId: string, text: string, now: number): Promise<void>;
  terminateAgent(tx: Tx, agent: Agent, reason: string, now: number): Promise<unknown>;
  /** The agent's state has changed: a run of it began, or ended for good. */
  tellBegun(tx: Tx, run: Run, now: number): Promise<void>;
  tellEnded(tx: Tx, run: Run, now: number): Promise<void>;
  /** Ends its turn in the channels whose posts it carried. */
  endTurns(tx: Tx, agentId: string, now: number): Promise<void>;
  /** The agent is delayed: others need not wait for it. */
  passTurns(tx: Tx, agentId: string, now: number): Promise<void>;
  passStaleTurns(tx: Tx, before: number, now: number): Promise<void>;
}

export interface Completion {
  readonly finalText: string;
  readonly stopReason?: StopReason | undefined;
  /** The stored files of the session after the turn; null: it is not portable yet. */
  readonly snapshot?: string | null;
  /** What was pushed of a git workspace. */
  readonly work?: SavedWork | null;
}

/** The turn succeeded: acknowledges what it carried and answers what it served. */
export async function completeRun(
  tx: Tx,
  correspondence: Correspondence,
  attempt: ActiveAttempt,
  { finalText, stopReason, snapshot = null, work = null }: Completion,
  now: number,
): Promise<void> {
  const [run, ending] = await Promise.all([
    tx.runs.holdRun(attempt),
    readEnding(tx, attempt),
    tx.deliveries.listHeadsOfRun({ runId: attempt.runId }),
  ]);
  const [trigger] = await Promise.all([triggerOf(tx, run), correspondence.foresee(tx, run)]);
  const heard = await correspondence.answerBroadcasts(tx, run, finalText, now);
  const why = stopReason ?? (!heard && (await wasIdle(tx, run, attempt, trigger)) ? 'no_tool_call' : 'end_turn');
  await correspondence.answerServed(tx, run, finalText, now);
  await tx.runs.endRun({ ...seen(run), state: 'completed', stopReason: why, error: null, finalText, now });
  if (attempt.external) await returnUnanswered(tx, run);
  await tx.deliveries.endCarried({ runId: run.id, state: 'acknowledged' });
  for (const [channelId, seq] of attempt.shown)
    await tx.channels.raiseRead({ channelId, participantId: run.agentId, seq });
  await tx.agents.settleAgent({ id: run.agentId });
  if (!attempt.forgets) await tx.sessions.seeRun({ ...attempt.session, runId: run.id, runSeq: run.seq, snapshot });
  if (work) await tx.wips.seeWork({ work, runId: run.id });
  await tellEnded(tx, run, trigger, { state: 'completed', error: null }, now);
  await afterAttempt(tx, correspondence, run, { ...ending, ended: true }, now);
}

/** A run in a channel that called no tool and owed no reply: nobody has seen it. */
async function wasIdle(tx: Tx, run: Run, attempt: ActiveAttempt, trigger: Message | null): Promise<boolean> {
  if (attempt.progress.called || run.serves !== null) return false;
  const channel = trigger && (await tx.channels.getChannel({ id: trigger.channelId }));
  return channel !== null && channel.kind !== 'dm';
}

/** The attempt failed: the run is retried, now or later, or fails for good. */
export async function failAttempt(
  tx: Tx,
  correspondence: Correspondence,
  run: Run,
  failure: Failure,
  limits: { readonly maxAttempts: number },
  now: number,
): Promise<void> {
  const ending = await readEnding(tx, { runId: run.id, agentId: run.agentId });
  const agent = ending.agent as Agent;
  const rule = retryRules[failure.kind];
  // With a new account or provider, the session or the login may be what failed.
  const isFirst = rule.counts && agent.seatNew;
  if (isFirst) await tx.agents.setSeatUsed({ id: agent.id });
  const failures = run.failures + (rule.counts && !isFirst ? 1 : 0);
  if (failures >= limits.maxAttempts) {
    const reason = `${failure.message} (given up after ${failures} attempts)`;
    await endBadly(tx, correspondence, run, { state: 'failed', reason, stopReason: stopReasonOf(failure) }, now);
    return;
  }
  const inARow = rule.counts ? run.failures : agent.rests;
  const notBefore = now + delayBefore(rule, inARow, failure.retryAfterMs);
  const rests = !rule.counts && notBefore > now;
  const { kind, message: error } = failure;
  const failedAttempts = addFailedAttempt(run, { attempt: run.attempt, kind, error, at: now, notBefore });
  await tx.runs.retryRun({ ...seen(run), failures, error, notBefore, failedAttempts, now });
  await tellRetried(tx, rests ? { ...agent, restUntil: notBefore } : agent, run, failure, notBefore, now);
  if (failure.kind === 'timeout' || failure.kind === 'budget' || rests)
    await correspondence.passTurns(tx, agent.id, now);
  if (rests) {
    await tx.agents.restAgent({ id: agent.id, until: notBefore, rests: agent.rests + 1 });
    if (!agent.restTold && isWorthTelling(failure, agent.rests, notBefore - now)) {
      await tx.agents.setRestTold({ id: agent.id });
      const until = new Date(notBefore).toISOString();
      await correspondence.tellPerson(
        tx,
        agent,
        `${agent.handle} waits until ${until} before its next attempt: ${failure.message}`,
        now,
      );
    }
  }
  await afterAttempt(tx, correspondence, run, { ...ending, ended: false }, now);
  if (failure.exhausts) await park(tx, correspondence, run.id, failure.exhausts, now);
}

/** A limit that passes within a minute is only told if it comes back. */
function isWorthTelling(failure: Failure, rests: number, waitMs: number): boolean {
  const isShort = failure.kind === 'rate_limit' && !isExhausted(failure) && waitMs < SHORT_REST_MS;
  return rests >= (isShort ? 1 : retryRules[failure.kind].tellsAt);
}

/** The provider does not know the session: the next attempt starts a new one with the journal of the conversation. */
export async function dropSession(
  tx: Tx,
  correspondence: Correspondence,
  { session: key }: Attempt,
  now: number,
): Promise<void> {
  const session = await tx.sessions.getSession(key);
  await tx.sessions.loseSession(key);
  if (session?.lost) return;
  const agent = (await tx.agents.getAgent({ id: key.agentId })) as Agent;
  const text = `${agent.handle} starts a new session because ${key.provider} no longer has the old one. It receives the earlier messages, but not its earlier actions and reasoning.`;
  await correspondence.tellPerson(tx, agent, text, now);
}

/** Cancelling is final: what the run carried dies, what it served is answered with an error. */
export async function cancelRun(
  tx: Tx,
  correspondence: Correspondence,
  runId: string,
  reason: string,
  now: number,
): Promise<void> {
  const run = await tx.runs.getRun({ id: runId });
  if (!run) throw new SubstratError('not_found', `There is no run ${shorten(runId)}.`);
  if (run.state !== 'created' && run.state !== 'running') {
    throw new SubstratError('conflict', `The run ${runId} has ${run.state} already.`);
  }
  // A run that has not started is cancelled with what it would have carried.
  if (run.attempt === 0) await inject(tx, run);
  const current = (await tx.runs.getRun({ id: runId })) as Run;
  await endBadly(tx, correspondence, current, { state: 'cancelled', reason, stopReason: 'cancelled' }, now);
}

/** Fails for good, regardless of its attempts, and is never tried again. */
export function setRunAside(
  tx: Tx,
  correspondence: Correspondence,
  run: Run,
  reason: string,
  now: number,
): Promise<void> {
  return endBadly(tx, correspondence, run, { state: 'failed', reason, stopReason: 'set_aside' }, now);
}

async function endBadly(
  tx: Tx,
  correspondence: Correspondence,
  run: Run,
  end: { state: 'failed' | 'cancelled'; reason: string; stopReason: StopReason },
  now: number,
): Promise<void> {
  const { state, reason, stopReason } = end;
  const [ending, trigger] = await Promise.all([
    readEnding(tx, { runId: run.id, agentId: run.agentId }),
    triggerOf(tx, run),
  ]);
  await tx.runs.endRun({ ...seen(run), state, stopReason, error: reason, finalText: null, now });
  if (run.budgetId !== null) await correspondence.releaseDeadlines(tx, run.serves, now);
  await tx.deliveries.endCarried({ runId: run.id, state: 'dead' });
  await correspondence.failServed(tx, run, reason, now);
  await tellEnded(tx, run, trigger, { state, error: reason }, now);
  await afterAttempt(tx, correspondence, run, { ...ending, ended: true }, now);
}

/** What the end of an attempt looks at, read before anything is written, because each wait for the store counts. */
interface Ending {
  readonly agent: Agent | null;
  /** Children that wait for the end of the attempt. */
  readonly spawned: readonly { readonly id: string }[];
  /** The budgets that it drew from. */
  readonly budgetIds: readonly string[];
}

async function readEnding(tx: Tx, { runId, agentId }: Pick<ActiveAttempt, 'runId' | 'agentId'>): Promise<Ending> {
  const [agent, spawned, charges] = await Promise.all([
    tx.agents.getAgent({ id: agentId }),
    tx.agents.listSpawned({ runId }),
    tx.budgets.listCharges({ runId }),
    tx.subscriptions.listSubscribers({ subjectId: agentId }),
    tx.rounds.listPlacesOf({ agentId }),
  ]);
  return { agent, spawned, budgetIds: charges.filter(({ open }) => open).map(({ budgetId }) => budgetId) };
}

async function triggerOf(tx: Tx, { triggerId: id }: Run): Promise<Message | null> {
  return id === null ? null : tx.messages.getMessage({ id });
}

/** Called at the end of every attempt: the children that it spawned may run, and the agent is woken if work is left. */
async function afterAttempt(
  tx: Tx,
  correspondence: Correspondence,
  run: Run,
  { agent, spawned, budgetIds, ended }: Ending & { readonly ended: boolean },
  now: number,
): Promise<void> {
  await unparkAll(tx, correspondence, budgetIds, now);
  if (spawned.length > 0) await tx.agents.readySpawned({ runId: run.id });
  for (const { id } of spawned) await tx.runs.wakeAgent({ agentId: id, now });
  if (ended) await correspondence.tellEnded(tx, run, now);
  if (ended) await correspondence.endTurns(tx, run.agentId, now);
  if (agent?.completing && ended) await correspondence.terminateAgent(tx, agent, 'it completed its work', now);
  else await tx.runs.wakeAgent({ agentId: run.agentId, now });
  if (ended) await correspondence.settleBroadcasts(tx, run.agentId, now);
}

/** The next client that joins an external agent gets the requests that the last one left open. */
async function returnUnanswered(tx: Tx, run: Run): Promise<void> {
  for (const delivery of await tx.deliveries.listCarried({ runId: run.id })) {
    if (delivery.deliveryKind === 'request' && delivery.requestState === 'open') {
      await tx.deliveries.returnDelivery({ messageId: delivery.messageId, agentId: run.agentId });
    }
  }
}

async function tellEnded(
  tx: Tx,
  run: Run,
  trigger: Message | null,
  { state, error }: Pick<RunEnd, 'state' | 'error'>,
  now: number,
): Promise<void> {
  const { id: runId, agentId } = run;
  const deliveries = state === 'completed' ? 'acknowledged' : 'dead';
  await tx.events.appendEvent({
    type: 'delivery_updated',
    at: now,
    agentId,
    data: { agentId, runId, state: deliveries },
  });
  await tx.events.appendEvent({ type: 'run_ended', at: now, agentId, data: { runId, agentId, state, error } });
  const channelId = trigger?.channelId;
  if (!channelId) return;
  await tx.events.appendEvent({ type: 'agent_done', at: now, agentId, channelId, data: { agentId, runId, channelId } });
}

async function tellRetried(
  tx: Tx,
  agent: Agent,
  run: Run,
  { kind, message: error, exhausts }: Failure,
  notBefore: number,
  now: number,
): Promise<void> {
  const { id: runId, agentId, createdAt: runCreatedAt } = run;
  const live = {
    runState: 'created',
    runCreatedAt,
    runNotBefore: notBefore,
    runFailedAt: now,
    runError: error,
    runBudgetId: exhausts?.budgetId ?? null,
    runProgress: null,
    runProgressReason: null,
    runProgressSince: null,
  } as const;
  const node = { nodeName: null, nodeLostAt: null };
  const status = agentStatus({ ...agent, ...live, ...node }, now);
  const data = { runId, agentId, kind, error, notBefore, status: showStatus(status) };
  await tx.events.appendEvent({ type: 'run_retried', at: now, agentId, data });
}

function stopReasonOf({ kind }: Failure): StopReason {
  return kind === 'timeout' ? 'timeout' : 'error';
}

/** A state change names the fence it was based on: if another change came first, it has no effect. */
function seen({ id, fence }: Run): Pick<Run, 'id' | 'fence'> {
  return { id, fence };
}
