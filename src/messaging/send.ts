import type { Agent } from '../core/agent.ts';
import type { NewAttachment } from '../core/attachment.ts';
import { isAutomatic } from '../core/delivery.ts';
import { SubstratError } from '../core/errors.ts';
import type { AgentId } from '../core/ids.ts';
import type { Request } from '../core/message.ts';
import type { Run } from '../core/run.ts';
import { shorten } from '../core/text.ts';
import { countWord, payerOf, type Scheduled } from './allowance.ts';
import { broadcastOf, replyToBroadcast } from './broadcasts.ts';
import { findDm, openDm } from './channels.ts';
import { holdDeadlines } from './closing.ts';
import { post } from './post.ts';
import { checkWords } from './questions.ts';
import { type Answered, reply, type Unanswered } from './replies.ts';
import { type Recipient, resolveRecipient } from './route.ts';
import type { MessagingRules } from './rules.ts';
import type { Tx } from './tx.ts';

export type { MessagingRules } from './rules.ts';

/** The outcome of a message. A reply is exempt from the rate limit. */
export type Sent = (Answered | Unanswered) & { readonly waiting: boolean };

/** `send_message` by recipient: decides whether the message is a reply, a request or news, and sends it. */
export async function send(
  tx: Tx,
  rules: MessagingRules,
  from: { readonly agent: Agent; readonly run: Run; readonly held?: Held },
  message: { recipient: string; text: string; sync?: boolean | undefined; inReplyTo?: string | undefined },
  now: number,
): Promise<Sent> {
  const { agent, run } = from;
  // Together, because each wait for the store counts; they are looked at below.
  const [to, carried] = await Promise.all([
    resolveRecipient(tx, agent, message.recipient),
    tx.deliveries.listHeadsOfRun({ runId: run.id }),
    run.serves && tx.requests.getRequest({ id: run.serves }),
  ]);
  const answered = message.inReplyTo
    ? await namedRequest(tx, agent, to, message.inReplyTo)
    : message.sync === true
      ? null
      : await requestMeant(tx, from, to, message.sync === false);
  if (answered) {
    return { ...(await reply(tx, answered, { run, text: message.text }, now)), waiting: false };
  }
  const [carrying] = await Promise.all([
    tx.deliveries.isCarrying({ runId: run.id, authorId: to.id }),
    findDm(tx, agent, to),
    to.agent && tx.agents.getAgent({ id: to.agent.id }),
  ]);
  const waiting = message.sync ?? (to.agent !== null && !carrying);
  if (waiting && to.agent?.parentId === agent.id && to.agent.gatedAt !== null) {
    throw new SubstratError(
      'conflict',
      `${to.agent.name} is gated and cannot answer. Send with \`sync: false\`, then call permit_turn or ungate.`,
    );
  }
  // What only reminders and state notices made must end somewhere.
  const quiet = run.chainDepth >= rules.maxChainDepth && isAutomatic(carried);
  if (quiet && waiting && to.agent !== null) {
    throw new SubstratError(
      'cap_reached',
      'Only reminders and state notices led to this turn, one after another (limits.max_chain_depth). Send with `sync: false`; the message starts no turn.',
    );
  }
  const collecting = !waiting && to.agent !== null ? await broadcastOf(tx, run, to.id) : null;
  if (collecting) {
    const words = { run, agent, text: message.text };
    return { messageId: await replyToBroadcast(tx, collecting, words, now), answered: null, waiting };
  }
  const parent = run.serves && waiting ? await tx.requests.getRequest({ id: run.serves }) : null;
  const parentId = parent?.state === 'open' ? parent.messageId : null;
  // People answer when they come back.
  if (!to.agent) await holdDeadlines(tx, parentId, now);
  const messageId = await post(
    tx,
    {
      channelId: await openDm(tx, agent, to, now),
      authorId: agent.id,
      runId: run.id,
      kind: 'message',
      text: message.text,
      chainDepth: run.chainDepth,
      payerId: run.payerId,
      recipients: to.agent
        ? [{ agentId: to.id, kind: waiting ? 'request' : 'news', ...(quiet && { round: 'quiet' }) }]
        : [],
      ...(waiting && {
        request: {
          recipientId: to.id,
          parentId,
          deadlineAt: to.agent ? now + rules.requestDeadlineMs : null,
        },
      }),
    },
    now,
  );
  return { messageId, waiting, answered: null };
}

/**
 * A person's message to an agent answers the agent's question: the one that it names, otherwise the only open one. If
 * there is none, it is a request; `inReplyTo: null` always makes it a request.
 */
export async function sendAsPerson(
  tx: Tx,
  rules: MessagingRules,
  from: { readonly id: string; readonly handle: string },
  to: Agent,
  message: {
    text: string;
    inReplyTo?: string | null | undefined;
    threadId?: string | null;
    attachments?: readonly NewAttachment[];
    scheduled?: Scheduled;
  },
  now: number,
): Promise<Answered | Unanswered> {
  // What the caller read may be older than this transaction's locks.
  const [current, question] = await Promise.all([
    tx.agents.getAgent({ id: to.id }),
    message.threadId ? null : questionMeant(tx, from, to, message.inReplyTo),
    findDm(tx, to, from),
  ]);
  if (!current || current.terminatedAt !== null) {
    throw new SubstratError('terminated', `${to.handle} is terminated and cannot answer.`);
  }
  await countWord(tx, rules, from, [to.treeId], now, message.scheduled);
  if (question)
    return reply(tx, question, { run: null, text: message.text, attachments: message.attachments ?? [] }, now);
  const messageId = await post(
    tx,
    {
      channelId: await openDm(tx, to, from, now),
      authorId: from.id,
      runId: null,
      kind: 'message',
      text: message.text,
      threadId: message.threadId ?? null,
      attachments: message.attachments ?? [],
      chainDepth: 0,
      payerId: payerOf(from, message.scheduled),
      ...(message.scheduled && { cause: 'schedule' }),
      recipients: [{ agentId: to.id, kind: 'request' }],
      request: { recipientId: to.id, parentId: null, deadlineAt: now + rules.requestDeadlineMs },
    },
    now,
  );
  return { messageId, answered: null };
}

/** Reads what `sendAsPerson` needs together with what is read now, because each wait for the store counts. */
export async function foreseePost(tx: Tx, agentId: AgentId, from: { readonly id: string }): Promise<void> {
  await Promise.all([
    tx.requests.listOpenRequestsBetween({ askerId: agentId, recipientId: from.id }),
    findDm(tx, { id: agentId }, from),
  ]);
}

/** The agent's question that a person's message answers. If several are open, it must be named. */
async function questionMeant(
  tx: Tx,
  from: { readonly id: string },
  to: Agent,
  named: string | null | undefined,
): Promise<Request | null> {
  if (named === null) return null;
  if (named !== undefined) {
    const request = await requestBetween(tx, { asker: to.id, recipient: from.id }, named);
    await checkWords(tx, request);
    return request;
  }
  const asked = [];
  for (const request of await tx.requests.listOpenRequestsBetween({ askerId: to.id, recipientId: from.id })) {
    // An approval is given by its own command only.
    if ((await tx.questions.getQuestion({ id: request.messageId }))?.kind !== 'approval') asked.push(request);
  }
  return asked.length === 1 ? (asked[0] ?? null) : null;
}

function namedRequest(tx: Tx, agent: Agent, to: Recipient, id: string): Promise<Request> {
  return requestBetween(tx, { asker: to.id, recipient: agent.id }, id);
}

async function requestBetween(tx: Tx, sides: { asker: string; recipient: string }, id: string): Promise<Request> {
  const request = await tx.requests.getRequest({ id });
  if (request && request.askerId === sides.asker && request.recipientId === sides.recipient) return request;
  throw new SubstratError(
    'not_found',
    `in_reply_to "${shorten(id)}" is not a request from that recipient to you. Leave it out, or set it to the id of the request.`,
  );
}

/** The requests that an external agent has received and not answered; null for an agent whose run serves one. */
export type Held = readonly string[] | null;

/** The request that a message without `in_reply_to` answers. `news`: the sender said that it expects no reply. */
export async function requestMeant(
  tx: Tx,
  from: { readonly run: Run; readonly held?: Held },
  to: Pick<Recipient, 'id' | 'handle'>,
  news = false,
): Promise<Request | null> {
  return from.held ? heldRequest(tx, from.held, to, news) : servedRequest(tx, from.run, to);
}

/**
 * The open request from the recipient that an external agent holds; if none is open, the one that was answered with
 * an error since. If several qualify, none is chosen.
 */
async function heldRequest(
  tx: Tx,
  held: readonly string[],
  to: Pick<Recipient, 'id' | 'handle'>,
  news: boolean,
): Promise<Request | null> {
  const [open, failed]: [Request[], Request[]] = [[], []];
  for (const id of held) {
    const request = await tx.requests.getRequest({ id });
    if (request?.askerId !== to.id) continue;
    if (request.state === 'open') open.push(request);
    else if (await closedByError(tx, request)) failed.push(request);
  }
  const candidates = open.length > 0 ? open : failed;
  if (candidates.length <= 1) return candidates[0] ?? null;
  if (news) return null;
  const ids = candidates.map(({ messageId }) => messageId).join(', ');
  throw new SubstratError(
    'conflict',
    `You have several open requests from ${to.handle}: ${ids}. Set in_reply_to to the one this answers, or set \`sync: true\` for a new request or \`sync: false\` for a message without a reply.`,
  );
}

/**
 * The request that a run serves, for a message to its asker. After the agent has answered it, more messages to the
 * asker are news; if something else closed it (a deadline), they are its late reply.
 */
async function servedRequest(tx: Tx, run: Run, to: Pick<Recipient, 'id'>): Promise<Request | null> {
  const request = run.serves === null ? null : await tx.requests.getRequest({ id: run.serves });
  if (!request || request.askerId !== to.id) return null;
  return request.state === 'open' || (await closedByError(tx, request)) ? request : null;
}

async function closedByError(tx: Tx, { replyId: id }: Request): Promise<boolean> {
  return id !== null && (await tx.messages.getMessage({ id }))?.kind === 'error';
}
