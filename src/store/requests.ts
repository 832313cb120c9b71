import type { Request } from '../core/message.ts';
import type { Queries } from './query.ts';
import type { Requests } from './tx.ts';

export function requestQueries({ db, all, one, value, count, put, change }: Queries): Requests {
  return {
    insertRequest: put(
      (p: Pick<Request, 'messageId' | 'seq' | 'askerId' | 'recipientId' | 'parentId' | 'deadlineAt'>) =>
        db.insertInto('requests').values({
          messageId: p.messageId,
          seq: p.seq,
          askerId: p.askerId,
          recipientId: p.recipientId,
          parentId: p.parentId,
          state: 'open',
          deadlineAt: p.deadlineAt,
          replyId: null,
          closedAt: null,
        }),
    ),
    getRequest: one((p: { id: string }) => db.selectFrom('requests').selectAll().where('messageId', '=', p.id)),
    /** Compare and set: returns the request if this call closed it, null if it was already closed. */
    tryCloseRequest: one((p: { id: string; at: number }) =>
      db
        .updateTable('requests')
        .set({ state: 'closed', closedAt: p.at })
        .where('messageId', '=', p.id)
        .where('state', '=', 'open')
        .returningAll(),
    ),
    setRequestReply: change('request', (p: { id: string; replyId: string }) =>
      db.updateTable('requests').set({ replyId: p.replyId }).where('messageId', '=', p.id),
    ),
    /** A child counts as open until its reply has reached the asker: a turn that did not see it cannot have used it. */
    countOpenChildren: count((p: { id: string; askerId: string }) =>
      db
        .selectFrom('requests')
        .select((eb) => eb.fn.countAll<number>().as('n'))
        .where('parentId', '=', p.id)
        .where('askerId', '=', p.askerId)
        .where((eb) =>
          eb.or([
            eb('state', '=', 'open'),
            eb.exists(
              eb
                .selectFrom('deliveries')
                .select('deliveries.messageId')
                .whereRef('deliveries.messageId', '=', 'requests.replyId')
                .where('deliveries.agentId', '=', p.askerId)
                .where('deliveries.state', '=', 'pending'),
            ),
          ]),
        ),
    ),
    listOpenRequestsTo: all((p: { recipientId: string }) =>
      db
        .selectFrom('requests')
        .selectAll()
        .where('recipientId', '=', p.recipientId)
        .where('state', '=', 'open')
        .orderBy('seq'),
    ),
    listOpenRequestsFrom: all((p: { askerId: string }) =>
      db.selectFrom('requests').selectAll().where('askerId', '=', p.askerId).where('state', '=', 'open').orderBy('seq'),
    ),
    listOpenRequestsBetween: all((p: { askerId: string; recipientId: string }) =>
      db
        .selectFrom('requests')
        .selectAll()
        .where('askerId', '=', p.askerId)
        .where('recipientId', '=', p.recipientId)
        .where('state', '=', 'open')
        .orderBy('seq'),
    ),
    listOverdueRequests: all((p: { now: number; limit: number }) =>
      db
        .selectFrom('requests')
        .selectAll()
        .where('state', '=', 'open')
        .where('deadlineAt', '<=', p.now)
        .orderBy('deadlineAt')
        .limit(p.limit),
    ),
    getNextDeadline: value(() =>
      db
        .selectFrom('requests')
        .select((eb) => eb.fn.min('deadlineAt').as('at'))
        .where('state', '=', 'open')
        .where('deadlineAt', 'is not', null),
    ),
  };
}
