import { sql } from 'kysely';
import type { Request } from '../core/message.ts';
import type { BatchState } from './batch.ts';
import type { Queries } from './query.ts';
import type { Requests } from './tx.ts';

export function requestQueries({ db, all, one, value, count, put, change }: Queries, batch: BatchState): Requests {
  const insert = put((p: Pick<Request, 'messageId' | 'seq' | 'askerId' | 'recipientId' | 'parentId' | 'deadlineAt'>) =>
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
      waits: 0,
      waitsSince: null,
    }),
  );
  const waiting = one((p: { id: string }) =>
    db.selectFrom('requests').select(['waits', 'waitsSince']).where('messageId', '=', p.id).where('waits', '>', 0),
  );
  const release = put((p: { id: string; waits: number; waitsSince: number | null; stood: number }) =>
    db
      .updateTable('requests')
      .set((eb) => ({ waits: p.waits, waitsSince: p.waitsSince, deadlineAt: eb('deadlineAt', '+', p.stood) }))
      .where('messageId', '=', p.id),
  );
  return {
    insertRequest: (request) => insert({ ...request, seq: batch.seq }),
    getRequest: one((p: { id: string }) => db.selectFrom('requests').selectAll().where('messageId', '=', p.id)),
    closeRequest: change('open request', (p: { id: string; at: number }) =>
      db
        .updateTable('requests')
        .set({ state: 'closed', closedAt: p.at })
        .where('messageId', '=', p.id)
        .where('state', '=', 'open'),
    ),
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
    /** With the handles of both sides, oldest first. */
    listOpenRequests: all((p: { after: number; limit: number }) =>
      db
        .selectFrom('requests')
        .innerJoin('messages', 'messages.id', 'requests.messageId')
        .innerJoin('participants as asker', 'asker.id', 'requests.askerId')
        .innerJoin('participants as recipient', 'recipient.id', 'requests.recipientId')
        .select(['requests.messageId', 'requests.seq', 'requests.deadlineAt', 'messages.createdAt'])
        .select(['asker.handle as from', 'recipient.handle as to'])
        .where('requests.state', '=', 'open')
        .where('requests.seq', '>', p.after)
        .orderBy('requests.seq')
        .limit(p.limit),
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
        .where('waits', '=', 0)
        .orderBy('deadlineAt')
        .limit(p.limit),
    ),
    getNextDeadline: value(() =>
      db
        .selectFrom('requests')
        .select((eb) => eb.fn.min('deadlineAt').as('at'))
        .where('state', '=', 'open')
        .where('deadlineAt', 'is not', null)
        .where('waits', '=', 0),
    ),
    holdDeadline: change('request', (p: { id: string; at: number }) =>
      db
        .updateTable('requests')
        .set((eb) => ({
          waits: eb('waits', '+', 1),
          waitsSince: eb.fn.coalesce('waitsSince', sql<number>`${p.at}`),
        }))
        .where('messageId', '=', p.id),
    ),
    releaseDeadline: async (p) => {
      const held = await waiting(p);
      if (!held) return;
      const stood = held.waits > 1 ? 0 : Math.max(0, p.at - (held.waitsSince ?? p.at));
      await release({ id: p.id, waits: held.waits - 1, waitsSince: held.waits > 1 ? held.waitsSince : null, stood });
      // It may be due before what the scheduler waits for.
      batch.runnable = true;
    },
  };
}
