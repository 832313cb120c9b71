import type { Queries } from './query.ts';
import type { MessageRow } from './schema.ts';

/** A message as people read it. */
export interface MessageView extends MessageRow {
  readonly handle: string;
  /** For a request: whether it still waits, and for whom. */
  readonly request_state: 'open' | 'closed' | null;
  readonly recipient_id: string | null;
}

export function messageQueries({ db, all, one, run }: Queries) {
  const views = () =>
    db
      .selectFrom('messages')
      .innerJoin('participants', 'participants.id', 'messages.author_id')
      .leftJoin('requests', 'requests.message_id', 'messages.id')
      .selectAll('messages')
      .select(['participants.handle', 'requests.state as request_state', 'requests.recipient_id']);
  return {
    getMessageView: one((p: { id: string }) => views().where('messages.id', '=', p.id)),
    /** Newest first, older than `before`. */
    listChannelMessages: all((p: { channelId: string; before: number; limit: number }) =>
      views()
        .where('messages.channel_id', '=', p.channelId)
        .where('messages.seq', '<', p.before)
        .orderBy('messages.seq', 'desc')
        .limit(p.limit),
    ),
    /** What others wrote in the DMs of a person, newest first. */
    listInbox: all((p: { participantId: string; before: number; limit: number }) =>
      views()
        .where('messages.inbox_of', '=', p.participantId)
        .where('messages.seq', '<', p.before)
        .orderBy('messages.seq', 'desc')
        .limit(p.limit),
    ),
    /** The questions that wait for a participant, newest first. */
    listOpenQuestions: all((p: { participantId: string; before: number; limit: number }) =>
      views()
        .where('requests.recipient_id', '=', p.participantId)
        .where('requests.state', '=', 'open')
        .where('messages.seq', '<', p.before)
        .orderBy('messages.seq', 'desc')
        .limit(p.limit),
    ),
    insertMessage: run((p: Omit<MessageRow, 'inbox_of' | 'edited_at' | 'deleted_at'>) =>
      db.insertInto('messages').values((eb) => ({
        id: p.id,
        seq: p.seq,
        channel_id: p.channel_id,
        author_id: p.author_id,
        run_id: p.run_id,
        kind: p.kind,
        text: p.text,
        in_reply_to: p.in_reply_to,
        late: p.late,
        chain_depth: p.chain_depth,
        created_at: p.created_at,
        thread_id: p.thread_id,
        trace: p.trace,
        payer_id: p.payer_id,
        inbox_of: eb
          .selectFrom('members')
          .innerJoin('channels', 'channels.id', 'members.channel_id')
          .innerJoin('participants', 'participants.id', 'members.participant_id')
          .select((person) => person.fn.min('members.participant_id').as('id'))
          .where('members.channel_id', '=', p.channel_id)
          .where('channels.kind', '=', 'dm')
          .where('participants.kind', '=', 'person')
          .where('members.participant_id', '<>', p.author_id),
      })),
    ),
    getMessage: one((p: { id: string }) => db.selectFrom('messages').selectAll().where('id', '=', p.id)),
    /** A thread: the message that began it, then what was said in it. Newest first, older than `before`. */
    listThreadMessages: all((p: { id: string; before: number; limit: number }) =>
      views()
        .where((eb) => eb.or([eb('messages.thread_id', '=', p.id), eb('messages.id', '=', p.id)]))
        .where('messages.seq', '<', p.before)
        .orderBy('messages.seq', 'desc')
        .limit(p.limit),
    ),
    /** What others said in a channel from one number to another, newest first. */
    listSaid: all((p: { channelId: string; readerId: string; after: number; limit: number }) =>
      views()
        .where('messages.channel_id', '=', p.channelId)
        .where('messages.seq', '>', p.after)
        .where('messages.author_id', '<>', p.readerId)
        .where('messages.deleted_at', 'is', null)
        .orderBy('messages.seq', 'desc')
        .limit(p.limit),
    ),
    editMessage: run((p: { id: string; text: string; at: number }) =>
      db.updateTable('messages').set({ text: p.text, edited_at: p.at }).where('id', '=', p.id),
    ),
    deleteMessage: run((p: { id: string; at: number }) =>
      db.updateTable('messages').set({ text: '', deleted_at: p.at }).where('id', '=', p.id),
    ),
    listReplies: all((p: { id: string }) => views().where('in_reply_to', '=', p.id).orderBy('messages.seq')),
  };
}
