import type { Channel } from '../core/channel.ts';
import { EMOJI_RULE, isEmoji } from '../core/emoji.ts';
import { SubstratError } from '../core/errors.ts';
import { checkLine } from '../core/line.ts';
import type { Message } from '../core/message.ts';
import { shorten } from '../core/text.ts';
import type { ReactionView } from '../store/store.ts';
import { seesChannel } from './channels.ts';
import type { Tx } from './tx.ts';

/** Visible messages can be reacted to. Idempotent: a repeated reaction adds no event. */
export async function react(tx: Tx, who: string, messageId: string, emoji: string, now: number): Promise<void> {
  checkLine('A reaction', emoji);
  if (!isEmoji(emoji)) throw new SubstratError('bad_request', `A reaction ${EMOJI_RULE}.`);
  const message = await visibleMessage(tx, who, messageId);
  if (message.deletedAt !== null) throw new SubstratError('gone', 'The message was deleted.');
  const added = await tx.messages.tryAddReaction({ messageId, emoji, participantId: who, at: now });
  if (added) await appendReactionEvent(tx, 'reaction_added', message, who, emoji, now);
}

export async function unreact(tx: Tx, who: string, messageId: string, emoji: string, now: number): Promise<void> {
  const message = await visibleMessage(tx, who, messageId);
  const removed = await tx.messages.tryRemoveReaction({ messageId, emoji, participantId: who });
  if (removed) await appendReactionEvent(tx, 'reaction_removed', message, who, emoji, now);
}

/** Messages that a participant may not see do not exist for it. */
export async function visibleMessage(tx: Tx, who: string, id: string): Promise<Message> {
  const message = await tx.messages.getMessage({ id });
  const channel = message && (await tx.channels.getChannel({ id: message.channelId }));
  if (message && (await seesChannel(tx, who, channel as Channel))) return message;
  throw new SubstratError('not_found', `Message ${shorten(id)} does not exist or you cannot see it.`);
}

/** Each emoji once, with the participants who chose it, in order. */
export function tally(reactions: readonly ReactionView[]): { emoji: string; users: string[] }[] {
  const users = Map.groupBy(reactions, ({ emoji }) => emoji);
  return [...users].map(([emoji, views]) => ({ emoji, users: views.map(({ handle }) => handle) }));
}

async function appendReactionEvent(
  tx: Tx,
  type: 'reaction_added' | 'reaction_removed',
  message: Message,
  by: string,
  emoji: string,
  now: number,
): Promise<void> {
  const { id: messageId, channelId } = message;
  await tx.events.appendEvent({ type, at: now, channelId, data: { messageId, channelId, by, emoji } });
}
