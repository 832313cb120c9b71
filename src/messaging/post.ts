import { SYSTEM_ID } from '../core/agent.ts';
import { hashOf, mediaTypeOf, type NewAttachment } from '../core/attachment.ts';
import type { DeliveryKind, Round } from '../core/delivery.ts';
import { newId } from '../core/id.ts';
import type { Message, MessageCause, Request } from '../core/message.ts';
import { inSpan } from '../core/tracing.ts';
import type { Tx } from './tx.ts';

export interface Draft {
  readonly channelId: string;
  readonly authorId: string;
  /** The run that sends it; null for people and for the daemon. */
  readonly runId: string | null;
  readonly kind: Message['kind'];
  readonly text: string;
  readonly inReplyTo?: string | null;
  readonly late?: boolean;
  readonly chainDepth: number;
  /** The person whose message started the chain; null for the owner, or if nobody did. */
  readonly payerId: string | null;
  readonly threadId?: string | null;
  readonly attachments?: readonly NewAttachment[];
  /** The agents that receive it; people read the channel. */
  readonly recipients: readonly Recipient[];
  /** What sends it, if nobody writes it. */
  readonly cause?: MessageCause;
  /** Set if it is a request. */
  readonly request?: Pick<Request, 'recipientId' | 'parentId' | 'deadlineAt'>;
}

export interface Recipient {
  readonly agentId: string;
  readonly kind: DeliveryKind;
  readonly round?: Round;
}

/** Stores the message, its deliveries and its event, and wakes the recipients, all in the caller's transaction. */
export function post(tx: Tx, draft: Draft, now: number): Promise<string> {
  const id = newId();
  const attributes = {
    'messaging.message.id': id,
    'messaging.destination.name': draft.channelId,
    'substrat.message.kind': draft.request ? 'request' : draft.kind,
    'substrat.message.recipients': draft.recipients.length,
  };
  return inSpan('post', attributes, (span) => store(tx, id, draft, span?.trace ?? null, now));
}

async function store(tx: Tx, id: string, draft: Draft, trace: string | null, now: number): Promise<string> {
  await tx.events.appendEvent({
    type: 'message_created',
    at: now,
    agentId: draft.recipients[0]?.agentId ?? null,
    channelId: draft.channelId,
    data: {
      messageId: id,
      authorId: draft.authorId,
      recipients: draft.recipients.map(({ agentId }) => agentId),
      kind: draft.kind,
      inReplyTo: draft.inReplyTo ?? null,
    },
  });
  await tx.messages.insertMessage({
    id,
    channelId: draft.channelId,
    authorId: draft.authorId,
    runId: draft.runId,
    kind: draft.kind,
    text: draft.text,
    inReplyTo: draft.inReplyTo ?? null,
    late: draft.late ?? false,
    chainDepth: draft.chainDepth,
    createdAt: now,
    threadId: draft.threadId ?? null,
    trace,
    payerId: draft.payerId,
    cause: draft.cause ?? null,
  });
  await attach(tx, id, draft.attachments ?? [], now);
  if (draft.request) await tx.requests.insertRequest({ messageId: id, askerId: draft.authorId, ...draft.request });
  for (const { agentId, kind, round } of draft.recipients) {
    await tx.deliveries.insertDelivery({ messageId: id, agentId, kind, round: round ?? 'free' });
    await tx.runs.wakeAgent({ agentId, now });
    if (kind !== 'news') await tellHolder(tx, agentId, now);
  }
  return id;
}

/** Something waits for a gated agent: notifies its parent, once until the next turn. */
async function tellHolder(tx: Tx, agentId: string, now: number): Promise<void> {
  const agent = await tx.agents.getAgent({ id: agentId });
  if (!agent?.parentId || agent.gatedAt === null || agent.permitted || agent.gateTold) return;
  const team = await tx.channels.getTeamChannel({ teamOf: agent.parentId });
  if (!team) return;
  await tx.agents.setGateTold({ id: agentId });
  const text = `${agent.name} is gated and a request or reply waits for it. Call permit_turn or ungate.`;
  const recipients = [{ agentId: agent.parentId, kind: 'news' }] as const;
  const notice = { channelId: team.id, authorId: SYSTEM_ID, runId: null, kind: 'notice', text } as const;
  await post(tx, { ...notice, chainDepth: 0, payerId: null, recipients }, now);
}

async function attach(tx: Tx, messageId: string, files: readonly NewAttachment[], now: number): Promise<void> {
  for (const [position, { name, data: bytes }] of files.entries()) {
    const hash = hashOf(bytes);
    await tx.attachments.putFile({ hash, mediaType: mediaTypeOf(bytes), size: bytes.length, bytes, createdAt: now });
    await tx.attachments.insertAttachment({ messageId, position, name, hash });
  }
}
