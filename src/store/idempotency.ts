import type { Queries } from './query.ts';
import type { Idempotency } from './tx.ts';
import type { KeptResponse } from './views.ts';

export function idempotencyQueries({ db, one, put }: Queries): Idempotency {
  return {
    getResponse: one((p: { participantId: string; key: string }) =>
      db.selectFrom('posts').selectAll().where('participantId', '=', p.participantId).where('key', '=', p.key),
    ),
    insertResponse: put((p: KeptResponse) =>
      db.insertInto('posts').values({
        participantId: p.participantId,
        key: p.key,
        request: p.request,
        status: p.status,
        response: p.response,
        createdAt: p.createdAt,
      }),
    ),
  };
}
