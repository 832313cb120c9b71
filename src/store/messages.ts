import type { Message } from '../core/message.ts';
import type { BatchState } from './batch.ts';
import type { Queries } from './query.ts';
import type { ReactionQueries } from './reactions.ts';
import type { Messages } from './tx.ts';

export function messageQueries(
  { db, all, one, put, change }: Queries,
  batch: BatchState,
): Omit<Messages, keyof ReactionQueries> {
  const views = () =>
    db
      .selectFrom('messages')
      .innerJoin('participants', 'participants.id', 'messages.authorId')
      .leftJoin('requests', 'requests.messageId', 'messages.id')
      .selectAll('messages')
      .select(['participants.handle', 'requests.state as requestState', 'requests.recipientId']);
  const insert = put((p: Omit<Message, 'inboxOf' | 'editedAt' | 'deletedAt'>) =>
    db.insertInto('messages').values((eb) => ({
      id: p.id,
      seq: p.seq,
      channelId: p.channelId,
      authorId: p.authorId,
      runId: p.runId,
      kind: p.kind,
      text: p.text,
      inReplyTo: p.inReplyTo,
      late: p.late,
      chainDepth: p.chainDepth,
      createdAt: p.createdAt,
      threadId: p.threadId,
      trace: p.trace,
      payerId: p.payerId,
      cause: p.cause,
      inboxOf: eb
        .selectFrom('members')
        .innerJoin('channels', 'channels.id', 'members.channelId')
        .innerJoin('participants', 'participants.id', 'members.participantId')
        .select((person) => person.fn.min('members.participantId').as('id'))
        .where('members.channelId', '=', p.channelId)
        .where('channels.kind', '=', 'dm')
        .where('participants.kind', '=', 'person')
        .where('members.participantId', '<>', p.authorId),
    })),
  );
  const message = one((p: { id: string }) => views().where('messages.id', '=', p.id));
  const inThread = all((p: { id: string; before: number; limit: number }) =>
    views()
      .where('messages.threadId', '=', p.id)
      .where('messages.seq', '<', p.before)
      .orderBy('messages.seq', 'desc')
      .limit(p.limit),
  );
  return {
    getMessageView: message,
    /** Newest first, older than `before`. */
    listChannelMessages: all((p: { channelId: string; before: number; limit: number }) =>
      views()
        .where('messages.channelId', '=', p.channelId)
        .where('messages.seq', '<', p.before)
        .orderBy('messages.seq', 'desc')
        .limit(p.limit),
    ),
    /** Messages by others in a person's DMs, newest first. */
    listInbox: all((p: { participantId: string; before: number; limit: number }) =>
      views()
        .where('messages.inboxOf', '=', p.participantId)
        .where('messages.seq', '<', p.before)
        .orderBy('messages.seq', 'desc')
        .limit(p.limit),
    ),
    /** Open questions to a participant, newest first. */
    listOpenQuestions: all((p: { participantId: string; before: number; limit: number }) =>
      views()
        .where('requests.recipientId', '=', p.participantId)
        .where('requests.state', '=', 'open')
        .where('messages.seq', '<', p.before)
        .orderBy('messages.seq', 'desc')
        .limit(p.limit),
    ),
    insertMessage: (message) => insert({ cause: null, ...message, seq: batch.seq }),
    getMessage: one((p: { id: string }) => db.selectFrom('messages').selectAll().where('id', '=', p.id)),
    /** A thread: its first message and the messages in it. Newest first, older than `before`. */
    listThreadMessages: async (p: { id: string; before: number; limit: number }) => {
      const replies = await inThread(p);
      const first = replies.length < p.limit ? await message({ id: p.id }) : null;
      return first && first.seq < p.before ? [...replies, first] : replies;
    },
    /** Messages by others in a channel within a range of numbers, newest first. */
    listSaid: all((p: { channelId: string; readerId: string; after: number; limit: number }) =>
      views()
        .where('messages.channelId', '=', p.channelId)
        .where('messages.seq', '>', p.after)
        .where('messages.authorId', '<>', p.readerId)
        .where('messages.deletedAt', 'is', null)
        .orderBy('messages.seq', 'desc')
        .limit(p.limit),
    ),
    editMessage: change('message', (p: { id: string; text: string; at: number }) =>
      db.updateTable('messages').set({ text: p.text, editedAt: p.at }).where('id', '=', p.id),
    ),
    deleteMessage: change('message', (p: { id: string; at: number }) =>
      db.updateTable('messages').set({ text: '', deletedAt: p.at }).where('id', '=', p.id),
    ),
    listReplies: all((p: { id: string }) => views().where('inReplyTo', '=', p.id).orderBy('messages.seq')),
  };
}
