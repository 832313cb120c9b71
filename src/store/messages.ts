import type { Queries } from './query.ts';
import type { MessageRow } from './schema.ts';

export function messageQueries({ db, all, one, run }: Queries) {
  return {
    insertMessage: run((p: MessageRow) =>
      db.insertInto('messages').values({
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
      }),
    ),
    getMessage: one((p: { id: string }) => db.selectFrom('messages').selectAll().where('id', '=', p.id)),
    listReplies: all((p: { id: string }) =>
      db
        .selectFrom('messages')
        .innerJoin('participants', 'participants.id', 'messages.author_id')
        .selectAll('messages')
        .select('participants.handle')
        .where('in_reply_to', '=', p.id)
        .orderBy('seq'),
    ),
  };
}
