import { EMOJI_RULE, isEmoji } from '../core/emoji.ts';
import { SubstratError } from '../core/errors.ts';
import { checkLine } from '../core/line.ts';
import { shorten } from '../core/text.ts';
import type { ChannelRow, MessageRow, ReactionView, Tx } from '../store/store.ts';
import { seesChannel } from './channels.ts';

/** What may be seen may be reacted to. The same reaction twice is one, and told once. */
export async function react(tx: Tx, who: string, messageId: string, emoji: string, now: number): Promise<void> {
  checkLine('A reaction', emoji);
  if (!isEmoji(emoji)) throw new SubstratError('bad_request', `A reaction ${EMOJI_RULE}.`);
  const message = await visibleMessage(tx, who, messageId);
  if (message.deleted_at !== null) throw new SubstratError('gone', 'That message was deleted.');
  const added = await tx.insertReaction({ messageId, emoji, participantId: who, at: now });
  if (added > 0) await appendReactionEvent(tx, 'reaction_added', message, who, emoji, now);
}

export async function unreact(tx: Tx, who: string, messageId: string, emoji: string, now: number): Promise<void> {
  const message = await visibleMessage(tx, who, messageId);
  const removed = await tx.deleteReaction({ messageId, emoji, participantId: who });
  if (removed > 0) await appendReactionEvent(tx, 'reaction_removed', message, who, emoji, now);
}

/** What a participant may not see does not exist for it. */
export async function visibleMessage(tx: Tx, who: string, id: string): Promise<MessageRow> {
  const message = await tx.getMessage({ id });
  const channel = message && (await tx.getChannel({ id: message.channel_id }));
  if (message && (await seesChannel(tx, who, channel as ChannelRow))) return message;
  throw new SubstratError('not_found', `There is no message ${shorten(id)} for you.`);
}

/** Each emoji once, with those who chose it, in the order in which they did. */
export function tally(reactions: readonly ReactionView[]): { emoji: string; users: string[] }[] {
  const users = Map.groupBy(reactions, ({ emoji }) => emoji);
  return [...users].map(([emoji, views]) => ({ emoji, users: views.map(({ handle }) => handle) }));
}

async function appendReactionEvent(
  tx: Tx,
  type: string,
  message: MessageRow,
  by: string,
  emoji: string,
  now: number,
): Promise<void> {
  const { id: messageId, channel_id: channelId } = message;
  await tx.appendEvent({ type, at: now, channelId, data: { messageId, channelId, by, emoji } });
}
