import * as z from 'zod';
import type { Channel } from '../core/channel.ts';
import { EMOJI, EMOJI_RULE } from '../core/emoji.ts';
import { SubstratError } from '../core/errors.ts';
import { evidenceText } from '../core/evidence.ts';
import { MAX_QUERY } from '../core/memory.ts';
import { shorten, takeFitting } from '../core/text.ts';
import { resolveChannel } from '../messaging/channels.ts';
import { react, tally } from '../messaging/reactions.ts';
import { declineServed } from '../messaging/replies.ts';
import { searchMessages } from '../messaging/search-messages.ts';
import type { Tx } from '../store/store.ts';
import { channel, referring } from './references.ts';
import { defineTool, referenceField, textField, timeField } from './tool.ts';

/** A result of `read_channel` holds about this many characters; `before` gets the rest. */
const READ_CHARACTERS = 200_000;
/** A search holds about this many characters after the first message. */
const FOUND_CHARACTERS = 60_000;

export const reactToMessage = defineTool({
  name: 'react_to_message',
  description:
    'Add an emoji reaction to a message in a channel or DM you can see. Adding the same reaction twice has no effect.',
  input: z.strictObject({
    messageId: referenceField('Id of the message.'),
    emoji: z
      .string()
      .regex(EMOJI, EMOJI_RULE)

      .describe('An emoji, such as 👍 or :thumbsup:.'),
  }),
  effect: true,
  run: async ({ tx, agent, now }, { messageId, emoji }) => {
    await react(tx, agent.id, messageId, emoji, now);
    return { result: { success: true } };
  },
});

export const doNothing = defineTool({
  name: 'do_nothing',
  description:
    'Explicitly choose not to respond. Nothing is posted and your final text is not sent. If someone is waiting for your reply, they ' +
    'are informed that you did not reply.',
  input: z.strictObject({}),
  effect: true,
  mayReply: true,
  run: async ({ tx, run, now }) => {
    const reply = await declineServed(tx, run, now);
    return { result: { action: 'none' }, reply };
  },
});

export const readChannel = defineTool({
  name: 'read_channel',
  description: 'Read the latest messages of a channel, DM or thread, oldest first.',
  input: z.strictObject({
    channelId: referenceField('Id of the channel, such as "general" or "dm-ann-ben".'),
    limit: z.int().min(1).max(100).default(20).describe('Maximum number of messages.'),
    before: referenceField('Id of a message: return only messages before it.').optional(),
    thread: referenceField('Id of a message: return only its thread.').optional(),
  }),
  refers: referring({ channelId: channel }),
  effect: false,
  run: async ({ tx, agent }, { channelId, limit, before, thread }) => {
    const channel = await resolveChannel(tx, agent, channelId, null);
    const page = { before: before === undefined ? Number.MAX_SAFE_INTEGER : await seqOf(tx, channel, before), limit };
    const rows =
      thread === undefined
        ? await tx.messages.listChannelMessages({ channelId: channel.id, ...page })
        : await tx.messages.listThreadMessages({ id: await beginningOf(tx, channel, thread), ...page });
    const messages = takeFitting(rows, ({ text }) => text, READ_CHARACTERS).reverse();
    const messageIds = messages.map(({ id }) => id);
    const [reactions, claimed] = await Promise.all([
      tx.messages.listReactions({ messageIds }),
      tx.evidence.listEvidence({ messageIds }),
    ]);
    const evidenceOf = (id: string) => claimed.filter(({ messageId }) => messageId === id).map(evidenceText);
    return {
      result: {
        messages: messages.map((message) => ({
          messageId: message.id,
          from: message.handle,
          text: message.deletedAt === null ? message.text : '(deleted)',
          createdAt: new Date(message.createdAt).toISOString(),
          parentMessageId: message.threadId,
          reactions: tally(reactions.filter(({ messageId }) => messageId === message.id)),
          ...(evidenceOf(message.id).length > 0 && { evidence: evidenceOf(message.id) }),
        })),
      },
    };
  },
});

export const searchMessagesTool = defineTool({
  name: 'search_messages',
  description:
    'Search everything said in your channels and DMs, and the final texts of your earlier runs. The query is plain text. Returns the best match first; read_channel with `before` shows what was said around it.',
  input: z.strictObject({
    query: textField('What to search for.').max(MAX_QUERY, `must have at most ${MAX_QUERY} characters`),
    limit: z.int().min(1).max(100).default(20).describe('Maximum number of messages.'),
    since: timeField('Only what was said since this date or time, such as 2026-01-31.').optional(),
    until: timeField('Only what was said before this date or time.').optional(),
  }),
  effect: false,
  look: ({ store, agent }, { query, limit, since, until }) =>
    searchMessages(store, {
      agentId: agent.id,
      query,
      limit,
      since: since === undefined ? 0 : Date.parse(since),
      until: until === undefined ? Number.MAX_SAFE_INTEGER : Date.parse(until),
    }),
  run: async ({ looked }) => ({
    result: {
      messages: takeFitting(looked, ({ text }) => text, FOUND_CHARACTERS).map(({ createdAt, ...said }) => ({
        ...said,
        createdAt: new Date(createdAt).toISOString(),
      })),
    },
  }),
});

async function seqOf(tx: Tx, channel: Channel, id: string): Promise<number> {
  return (await messageIn(tx, channel, id)).seq;
}

async function beginningOf(tx: Tx, channel: Channel, id: string): Promise<string> {
  const message = await messageIn(tx, channel, id);
  return message.threadId ?? message.id;
}

async function messageIn(tx: Tx, channel: Channel, id: string) {
  const message = await tx.messages.getMessage({ id });
  if (message?.channelId === channel.id) return message;
  throw new SubstratError('not_found', `There is no message ${shorten(id)} in ${channel.id}.`);
}
