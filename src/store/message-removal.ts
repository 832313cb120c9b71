import { isOneOf } from './key-list.ts';
import type { Queries } from './query.ts';

/** Removes messages with everything that refers to them, in this order. `ids` is a list of the engine (`listOf`). */
export function messageRemoval({ db, run, engine }: Queries): (ids: unknown) => Promise<void> {
  const list = (column: string, ids: unknown) => isOneOf(engine, column, ids, 'text');
  const steps = [
    run((p: { ids: unknown }) => db.deleteFrom('attachments').where(list('messageId', p.ids))),
    run(() =>
      db
        .deleteFrom('files')
        .where(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom('attachments').select('attachments.hash').whereRef('attachments.hash', '=', 'files.hash'),
            ),
          ),
        ),
    ),
    run((p: { ids: unknown }) => db.deleteFrom('evidence').where(list('messageId', p.ids))),
    run((p: { ids: unknown }) => db.deleteFrom('reactions').where(list('messageId', p.ids))),
    run((p: { ids: unknown }) => db.deleteFrom('deliveries').where(list('messageId', p.ids))),
    run((p: { ids: unknown }) => db.deleteFrom('broadcasts').where(list('messageId', p.ids))),
    run((p: { ids: unknown }) => db.updateTable('requests').set({ parentId: null }).where(list('parentId', p.ids))),
    run((p: { ids: unknown }) => db.updateTable('requests').set({ replyId: null }).where(list('replyId', p.ids))),
    run((p: { ids: unknown }) => db.updateTable('runs').set({ triggerId: null }).where(list('triggerId', p.ids))),
    run((p: { ids: unknown }) => db.updateTable('runs').set({ serves: null }).where(list('serves', p.ids))),
    run((p: { ids: unknown }) => db.deleteFrom('questions').where(list('id', p.ids))),
    run((p: { ids: unknown }) => db.deleteFrom('requests').where(list('messageId', p.ids))),
    run((p: { ids: unknown }) => db.updateTable('messages').set({ inReplyTo: null }).where(list('inReplyTo', p.ids))),
    run((p: { ids: unknown }) => db.updateTable('messages').set({ threadId: null }).where(list('threadId', p.ids))),
    run((p: { ids: unknown }) => db.deleteFrom('messages').where(list('id', p.ids))),
  ];
  return async (ids) => {
    for (const step of steps) await step({ ids });
  };
}
