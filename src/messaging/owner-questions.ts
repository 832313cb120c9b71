import { hash } from 'node:crypto';
import { type Agent, SYSTEM_ID, USER_ID } from '../core/agent.ts';
import { settled, UNSETTLED } from '../core/question.ts';
import { openDm } from './channels.ts';
import { closeRequest } from './closing.ts';
import { post } from './post.ts';
import type { Tx } from './tx.ts';

export interface OwnerQuestion {
  readonly subject: string;
  readonly details: string;
  readonly options: readonly string[];
}

/**
 * The daemon itself asks the owner about an agent, in the DM with the root of its tree. No agent is woken by the outcome, and the
 * question has no deadline: the code that asked acts on the answer. Returns its id.
 */
export async function askOwner(tx: Tx, agent: Agent, question: OwnerQuestion, now: number): Promise<string> {
  const { subject, details, options } = question;
  const root = agent.parentId === null ? agent : ((await tx.agents.getAgent({ id: agent.treeId })) ?? agent);
  const id = await post(
    tx,
    {
      channelId: await openDm(tx, root, { id: USER_ID, handle: USER_ID }, now),
      authorId: SYSTEM_ID,
      runId: null,
      kind: 'message',
      text: [subject, '', details, '', ...options.map((option, i) => `${i + 1}. ${option}`)].join('\n'),
      chainDepth: 0,
      payerId: null,
      recipients: [],
      request: { recipientId: USER_ID, parentId: null, deadlineAt: null },
    },
    now,
  );
  await tx.questions.insertQuestion({
    id,
    agentId: agent.id,
    treeId: agent.treeId,
    kind: 'question',
    subject,
    details,
    options,
    tool: null,
    args: null,
    digest: hash('sha256', id, 'base64url'),
    blocking: true,
    answerers: [USER_ID],
    createdAt: now,
    ...UNSETTLED,
    tellAt: now,
  });
  const data = { agentId: agent.id, questionId: id, kind: 'question' } as const;
  await tx.events.appendEvent({ type: 'question_asked', at: now, agentId: agent.id, data });
  return id;
}

/** The answer is no longer needed. */
export async function withdrawQuestion(tx: Tx, id: string, reason: string, now: number): Promise<void> {
  const request = await tx.requests.getRequest({ id });
  if (request) await closeRequest(tx, request, settled('cancelled', { note: reason }), now);
}
