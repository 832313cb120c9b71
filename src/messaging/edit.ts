import { SubstratError } from '../core/errors.ts';
import type { Message } from '../core/message.ts';
import { settled } from '../core/question.ts';
import { closeRequest } from './closing.ts';
import { visibleMessage } from './reactions.ts';
import { endTurns } from './rounds.ts';
import type { Tx } from './tx.ts';

/** Only its author can edit a message; those who have already read it keep the old text. */
export async function editMessage(tx: Tx, who: string, id: string, text: string, now: number): Promise<void> {
  const message = await ownMessage(tx, who, id);
  await tx.messages.editMessage({ id, text, at: now });
  await appendMessageEvent(tx, 'message_updated', message, now);
}

/** Removes the text and its pending deliveries; a deleted question no longer expects an answer. */
export async function deleteMessage(tx: Tx, who: string, id: string, now: number): Promise<void> {
  const message = await ownMessage(tx, who, id);
  const recipients = await tx.deliveries.listPendingRecipients({ messageId: id });
  await tx.messages.deleteMessage({ id, at: now });
  await tx.attachments.deleteAttachments({ messageId: id });
  const request = recipients.length > 0 ? await tx.requests.getRequest({ id }) : null;
  if (request) await closeRequest(tx, request, settled('cancelled'), now);
  await tx.deliveries.killPendingDelivery({ messageId: id });
  for (const { agentId } of recipients) await endTurns(tx, agentId, now);
  await appendMessageEvent(tx, 'message_deleted', message, now);
}

async function ownMessage(tx: Tx, who: string, id: string): Promise<Message> {
  const message = await visibleMessage(tx, who, id);
  if (message.authorId !== who) {
    throw new SubstratError('forbidden', 'Only the author of a message may edit or delete it.');
  }
  if (message.deletedAt !== null) throw new SubstratError('gone', 'The message was deleted.');
  return message;
}

async function appendMessageEvent(
  tx: Tx,
  type: 'message_updated' | 'message_deleted',
  message: Message,
  now: number,
): Promise<void> {
  const { id: messageId, channelId, authorId } = message;
  await tx.events.appendEvent({ type, at: now, channelId, data: { messageId, channelId, authorId } });
}
