import { SubstratError } from '../core/errors.ts';
import type { MessageRow, Tx } from '../store/store.ts';
import { visibleMessage } from './reactions.ts';
import { endTurns } from './rounds.ts';

/** Words can be changed by whoever said them; those who have read them already have read them. */
export async function editMessage(tx: Tx, who: string, id: string, text: string, now: number): Promise<void> {
  const message = await ownMessage(tx, who, id);
  await tx.editMessage({ id, text, at: now });
  await appendMessageEvent(tx, 'message_updated', message, now);
}

/** The text is gone, and who has not read it does not get it any more; a question that is taken back owes no answer. */
export async function deleteMessage(tx: Tx, who: string, id: string, now: number): Promise<void> {
  const message = await ownMessage(tx, who, id);
  const recipients = await tx.listPendingRecipients({ messageId: id });
  await tx.deleteMessage({ id, at: now });
  if (recipients.length > 0) await tx.closeRequest({ id, at: now });
  await tx.killPendingDelivery({ messageId: id });
  for (const { agent_id } of recipients) await endTurns(tx, agent_id, now);
  await appendMessageEvent(tx, 'message_deleted', message, now);
}

async function ownMessage(tx: Tx, who: string, id: string): Promise<MessageRow> {
  const message = await visibleMessage(tx, who, id);
  if (message.author_id !== who) {
    throw new SubstratError('forbidden', 'Only the author of a message may edit or delete it.');
  }
  if (message.deleted_at !== null) throw new SubstratError('gone', 'That message was deleted.');
  return message;
}

async function appendMessageEvent(tx: Tx, type: string, message: MessageRow, now: number): Promise<void> {
  const { id: messageId, channel_id: channelId, author_id: authorId } = message;
  await tx.appendEvent({ type, at: now, channelId, data: { messageId, channelId, authorId } });
}
