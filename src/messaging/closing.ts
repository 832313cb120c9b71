import { type Agent, SYSTEM_ID } from '../core/agent.ts';
import type { AgentId } from '../core/ids.ts';
import type { Message, Request } from '../core/message.ts';
import { type Question, type Settlement, settled } from '../core/question.ts';
import { post } from './post.ts';
import { tellAnswered } from './subscriptions.ts';
import type { Tx } from './tx.ts';

/**
 * Closes a request, for any reason. A question gets its outcome in the same transaction, and what the recipient asked
 * people in order to answer is cancelled. Returns false if it was already closed: then nothing happens.
 */
export async function closeRequest(tx: Tx, request: Request, how: Settlement, now: number): Promise<boolean> {
  const { messageId: id, recipientId, parentId } = request;
  // Together, because each wait for the store counts.
  const [current, recipient, asked] = await Promise.all([
    tx.requests.getRequest({ id }),
    tx.participants.getParticipantById({ id: recipientId }),
    tx.questions.listOpenUnder({ parentId: id, agentId: recipientId }),
    tx.subscriptions.listSubscribers({ subjectId: request.askerId as AgentId }),
  ]);
  if (current?.state !== 'open') return false;
  await tx.requests.closeRequest({ id, at: now });
  await tellAnswered(tx, request, now);
  if (recipient?.kind === 'person') {
    await settle(tx, id, how, now);
    await releaseDeadlines(tx, parentId, now);
  }
  for (const question of asked) {
    await cancelQuestion(tx, question, 'the request that it was asked for was closed', now);
  }
  return true;
}

/** A request to a person was sent on behalf of these requests: their deadlines stand still until it is closed. */
export async function holdDeadlines(tx: Tx, parentId: string | null, now: number): Promise<void> {
  for (const { messageId: id } of await ancestors(tx, parentId)) await tx.requests.holdDeadline({ id, at: now });
}

/** What these requests waited for has come, or is no longer needed. */
export async function releaseDeadlines(tx: Tx, parentId: string | null, now: number): Promise<void> {
  for (const { messageId: id } of await ancestors(tx, parentId)) await tx.requests.releaseDeadline({ id, at: now });
}

/** Nobody needs the answer any more. The agent finds the notice in its next turn; the notice starts none. */
async function cancelQuestion(tx: Tx, { id, agentId }: Question, reason: string, now: number): Promise<void> {
  const request = (await tx.requests.getRequest({ id })) as Request;
  if (!(await closeRequest(tx, request, settled('cancelled', { note: reason }), now))) return;
  const agent = (await tx.agents.getAgent({ id: agentId })) as Agent;
  const { channelId, chainDepth, payerId } = (await tx.messages.getMessage({ id })) as Message;
  await post(
    tx,
    {
      channelId,
      authorId: SYSTEM_ID,
      runId: null,
      kind: 'notice',
      text: `Your question (message ${id}) was cancelled, because ${reason}.`,
      chainDepth: chainDepth + 1,
      payerId,
      recipients: agent.terminatedAt === null ? [{ agentId: agent.id, kind: 'news', round: 'quiet' }] : [],
    },
    now,
  );
}

/** Gives a question its outcome; a request without a typed body has none. */
async function settle(tx: Tx, id: string, how: Settlement, now: number): Promise<void> {
  const question = await tx.questions.getQuestion({ id });
  if (!question) return;
  await tx.questions.trySettle({ ...how, id, at: now });
  const { agentId } = question;
  const data = { agentId, questionId: id, outcome: how.outcome, by: how.settledBy ?? SYSTEM_ID };
  await tx.events.appendEvent({ type: 'question_settled', at: now, agentId, data });
}

async function ancestors(tx: Tx, parentId: string | null): Promise<Request[]> {
  const found: Request[] = [];
  for (let id = parentId; id !== null; ) {
    const request = await tx.requests.getRequest({ id });
    if (!request) break;
    found.push(request);
    id = request.parentId;
  }
  return found;
}
