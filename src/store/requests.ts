import type { Queries } from './query.ts';
import type { RequestRow } from './schema.ts';

export function requestQueries({ db, all, one, run }: Queries) {
  return {
    insertRequest: run(
      (p: Pick<RequestRow, 'message_id' | 'seq' | 'asker_id' | 'recipient_id' | 'parent_id' | 'deadline_at'>) =>
        db.insertInto('requests').values({
          message_id: p.message_id,
          seq: p.seq,
          asker_id: p.asker_id,
          recipient_id: p.recipient_id,
          parent_id: p.parent_id,
          state: 'open',
          deadline_at: p.deadline_at,
          reply_id: null,
          closed_at: null,
        }),
    ),
    getRequest: one((p: { id: string }) => db.selectFrom('requests').selectAll().where('message_id', '=', p.id)),
    /** Compare and set: the request as it was if this call closed it, null if it was closed before. */
    closeRequest: one((p: { id: string; at: number }) =>
      db
        .updateTable('requests')
        .set({ state: 'closed', closed_at: p.at })
        .where('message_id', '=', p.id)
        .where('state', '=', 'open')
        .returningAll(),
    ),
    setRequestReply: run((p: { id: string; replyId: string }) =>
      db.updateTable('requests').set({ reply_id: p.replyId }).where('message_id', '=', p.id),
    ),
    /** A child counts as open until its reply has reached the asker: a turn that did not see it cannot have used it. */
    countOpenChildren: one((p: { id: string; askerId: string }) =>
      db
        .selectFrom('requests')
        .select((eb) => eb.fn.countAll<number>().as('n'))
        .where('parent_id', '=', p.id)
        .where('asker_id', '=', p.askerId)
        .where((eb) =>
          eb.or([
            eb('state', '=', 'open'),
            eb.exists(
              eb
                .selectFrom('deliveries')
                .select('deliveries.message_id')
                .whereRef('deliveries.message_id', '=', 'requests.reply_id')
                .where('deliveries.agent_id', '=', p.askerId)
                .where('deliveries.state', '=', 'pending'),
            ),
          ]),
        ),
    ),
    listOpenRequestsTo: all((p: { recipientId: string }) =>
      db
        .selectFrom('requests')
        .selectAll()
        .where('recipient_id', '=', p.recipientId)
        .where('state', '=', 'open')
        .orderBy('seq'),
    ),
    listOpenRequestsFrom: all((p: { askerId: string }) =>
      db
        .selectFrom('requests')
        .selectAll()
        .where('asker_id', '=', p.askerId)
        .where('state', '=', 'open')
        .orderBy('seq'),
    ),
    listOpenRequestsBetween: all((p: { askerId: string; recipientId: string }) =>
      db
        .selectFrom('requests')
        .selectAll()
        .where('asker_id', '=', p.askerId)
        .where('recipient_id', '=', p.recipientId)
        .where('state', '=', 'open')
        .orderBy('seq'),
    ),
    listOverdueRequests: all((p: { now: number; limit: number }) =>
      db
        .selectFrom('requests')
        .selectAll()
        .where('state', '=', 'open')
        .where('deadline_at', '<=', p.now)
        .orderBy('deadline_at')
        .limit(p.limit),
    ),
    getNextDeadline: one((_: object) =>
      db
        .selectFrom('requests')
        .select((eb) => eb.fn.min('deadline_at').as('at'))
        .where('state', '=', 'open')
        .where('deadline_at', 'is not', null),
    ),
  };
}
