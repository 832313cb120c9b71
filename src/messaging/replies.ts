import type { Agent } from '../core/agent.ts';
import { SYSTEM_ID, USER_ID } from '../core/agent.ts';
import type { NewAttachment } from '../core/attachment.ts';
import type { Request } from '../core/message.ts';
import { settled } from '../core/question.ts';
import type { Run } from '../core/run.ts';
import { payerOf } from './allowance.ts';
import { findDm, openDm, type Side } from './channels.ts';
import { closeRequest } from './closing.ts';
import { post } from './post.ts';
import { tellFailedAgain } from './tell-parent.ts';
import type { Tx } from './tx.ts';

export const NO_REPLY = '(no reply)';

export interface Answer {
  /** Null for people and for the daemon. */
  readonly run: Pick<Run, 'id' | 'chainDepth' | 'payerId'> | null;
  readonly text: string;
  readonly kind: 'reply' | 'error';
  readonly attachments?: readonly NewAttachment[];
}

export interface Answered {
  readonly messageId: string;
  /** The id of the request. */
  readonly answered: string;
  /** It was already closed, so this is news. */
  readonly late: boolean;
}

/** A message that answered no request. */
export interface Unanswered {
  readonly messageId: string;
  readonly answered: null;
}

/**
 * Closes the request and sends the reply, in one transaction. If it was already closed, a reply becomes news, marked
 * as late, and an error is dropped, because the asker has an answer. Returns what was sent, or null.
 */
export async function answer(tx: Tx, request: Request, reply: Answer, now: number): Promise<Answered | null> {
  const { messageId, recipientId, askerId } = request;
  // Together, because each wait for the store counts; the DM is looked at again below.
  const [from, to] = await Promise.all([
    sideOf(tx, recipientId),
    sideOf(tx, askerId),
    findDm(tx, { id: recipientId }, { id: askerId }),
  ]);
  const outcome =
    reply.kind === 'reply' ? settled('answered', { note: reply.text, settledBy: recipientId }) : settled('expired');
  const closed = await closeRequest(tx, request, outcome, now);
  if (!closed && reply.kind === 'error') return null;
  await tx.deliveries.acknowledgePending({ messageId, agentId: recipientId });

  const id = await post(
    tx,
    {
      channelId: await openDm(tx, from, to, now),
      authorId: from.id,
      runId: reply.run?.id ?? null,
      kind: reply.kind,
      text: reply.text,
      inReplyTo: request.messageId,
      late: !closed,
      attachments: reply.attachments ?? [],
      chainDepth: reply.run?.chainDepth ?? 0,
      payerId: await payerFor(tx, request, reply),
      recipients: to.live ? [{ agentId: to.id, kind: closed ? 'reply' : 'news' }] : [],
    },
    now,
  );
  if (closed) await tx.requests.setRequestReply({ id: request.messageId, replyId: id });
  return { messageId: id, answered: request.messageId, late: !closed };
}

/** A person's message starts a chain; messages of a run, and errors of the daemon, continue one. */
async function payerFor(tx: Tx, request: Request, { run, kind }: Answer): Promise<string | null> {
  if (run) return run.payerId;
  if (kind === 'reply') return payerOf({ id: request.recipientId });
  return (await tx.messages.getMessage({ id: request.messageId }))?.payerId ?? null;
}

/** `answer` for messages of a participant, which are always sent. */
export async function reply(
  tx: Tx,
  request: Request,
  words: Pick<Answer, 'run' | 'text' | 'attachments'>,
  now: number,
): Promise<Answered> {
  return (await answer(tx, request, { ...words, kind: 'reply' }, now)) as Answered;
}

/**
 * Reads together what the answer to the request that a run serves will look at, because each wait for the store
 * counts.
 */
export async function foresee(tx: Tx, { id: runId, serves: id, agentId }: Run): Promise<void> {
  if (id === null) return;
  const carried = await tx.deliveries.listHeadsOfRun({ runId });
  const asker = carried.find(({ messageId }) => messageId === id)?.authorId;
  await Promise.all([
    tx.requests.getRequest({ id }),
    tx.requests.countOpenChildren({ id, askerId: agentId }),
    sideOf(tx, agentId),
    asker && sideOf(tx, asker),
    asker && findDm(tx, { id: agentId }, { id: asker }),
  ]);
}

/**
 * Called when a run succeeded: its final text answers the request it served, unless it still waits for replies
 * itself.
 */
export async function answerServed(tx: Tx, run: Run, finalText: string, now: number): Promise<void> {
  if (run.serves === null) return;
  const [request, children] = await Promise.all([
    run.pokes > 0 ? unansweredServed(tx, run) : openServed(tx, run),
    tx.requests.countOpenChildren({ id: run.serves, askerId: run.agentId }),
  ]);
  if (!request || children > 0) return;
  await answer(tx, request, { run, text: finalText.trim() ? finalText : NO_REPLY, kind: 'reply' }, now);
}

/** The agent chose not to answer the request that its run serves. Returns whether anybody waited for it. */
export async function declineServed(tx: Tx, run: Run, now: number): Promise<boolean> {
  const request = await openServed(tx, run);
  if (request) await answer(tx, request, { run, text: NO_REPLY, kind: 'reply' }, now);
  return request !== null;
}

/** Called when a run failed for good. */
export async function failServed(tx: Tx, run: Run, reason: string, now: number): Promise<void> {
  const request = await openServed(tx, run);
  if (!request) return run.pokes > 0 ? tellFailedAgain(tx, run, reason, now) : undefined;
  const text = (await mayKnowWhy(tx, request.askerId))
    ? reason
    : `${(await sideOf(tx, run.agentId)).handle} failed and cannot answer. Only the owner of this daemon sees why.`;
  await answer(tx, request, { run, text, kind: 'error' }, now);
}

/** A reason can contain file paths and a program's output, which only the owner may see. */
async function mayKnowWhy(tx: Tx, askerId: string): Promise<boolean> {
  return askerId === USER_ID || (await tx.participants.getParticipantById({ id: askerId }))?.kind !== 'person';
}

/** Requests past their deadline are answered with an error; their unread deliveries are dropped. */
export async function expireRequests(tx: Tx, now: number): Promise<number> {
  const overdue = await tx.requests.listOverdueRequests({ now, limit: 100 });
  for (const request of overdue) {
    await tx.deliveries.killPendingDelivery({ messageId: request.messageId });
    const { handle } = await sideOf(tx, request.recipientId);
    await answer(tx, request, { run: null, text: `${handle} did not answer before the deadline.`, kind: 'error' }, now);
  }
  return overdue.length;
}

/** Sends the owner a notice about a tree, in the DM with its root. It expects no answer, so it never bounces. */
export async function tellPerson(tx: Tx, agent: Agent, text: string, now: number): Promise<void> {
  await notify(tx, await sideOf(tx, agent.treeId), { id: USER_ID, handle: USER_ID }, text, now);
}

/** Sends a person a notice about their own work, in the DM with the agent. */
export async function tellPayer(tx: Tx, agent: Agent, personId: string, text: string, now: number): Promise<void> {
  await notify(tx, agent, await sideOf(tx, personId), text, now);
}

async function notify(tx: Tx, agent: Side, person: Side, text: string, now: number): Promise<void> {
  const channelId = await openDm(tx, agent, person, now);
  await post(
    tx,
    { channelId, authorId: SYSTEM_ID, runId: null, kind: 'notice', text, chainDepth: 0, payerId: null, recipients: [] },
    now,
  );
}

async function openServed(tx: Tx, run: Run): Promise<Request | null> {
  const request = run.serves === null ? null : await tx.requests.getRequest({ id: run.serves });
  return request?.state === 'open' ? request : null;
}

/** Of a run that was tried again: the error that closed its request was no answer, unless the run has answered late since. */
async function unansweredServed(tx: Tx, run: Run): Promise<Request | null> {
  const request = run.serves === null ? null : await tx.requests.getRequest({ id: run.serves });
  if (!request || request.state === 'open') return request;
  const replies = await tx.messages.listReplies({ id: request.messageId });
  return replies.some(({ kind, runId }) => kind === 'reply' && runId === run.id) ? null : request;
}

async function sideOf(tx: Tx, id: string): Promise<{ id: string; handle: string; live: boolean }> {
  const [participant, agent] = await Promise.all([
    tx.participants.getParticipantById({ id }),
    tx.agents.getAgent({ id }),
  ]);
  return { id, handle: participant?.handle ?? id, live: agent !== null && agent.terminatedAt === null };
}
