import type { Attachment } from '../core/attachment.ts';
import type { MessageId, RunId } from '../core/ids.ts';
import type { Queries } from './query.ts';
import type { StoredFile } from './views.ts';

/** Files that messages carry. */
export interface Attachments {
  /** Does nothing if its bytes are stored already. */
  putFile(file: StoredFile): Promise<void>;
  getFile(p: { hash: string }): Promise<StoredFile | null>;
  insertAttachment(p: Pick<Attachment, 'messageId' | 'position' | 'name' | 'hash'>): Promise<void>;
  /** Of a deleted message, with the files that nothing else carries. */
  deleteAttachments(p: { messageId: MessageId }): Promise<void>;
  /** In order. */
  listAttachments(p: { messageIds: readonly MessageId[] }): Promise<Attachment[]>;
  /** Of the messages that a run carries. */
  listCarriedAttachments(p: { runId: RunId }): Promise<Attachment[]>;
}

export function attachmentQueries({ db, all, one, run, put, fetch }: Queries): Attachments {
  const shown = () =>
    db
      .selectFrom('attachments')
      .innerJoin('files', 'files.hash', 'attachments.hash')
      .select([
        'attachments.messageId',
        'attachments.position',
        'attachments.name',
        'attachments.hash',
        'files.mediaType',
        'files.size',
      ])
      .orderBy('attachments.messageId')
      .orderBy('attachments.position');
  const insert = run((p: StoredFile) =>
    db
      .insertInto('files')
      .values({ hash: p.hash, mediaType: p.mediaType, size: p.size, bytes: p.bytes, createdAt: p.createdAt })
      .onConflict((conflict) => conflict.column('hash').doNothing()),
  );
  const detach = run((p: { messageId: string }) => db.deleteFrom('attachments').where('messageId', '=', p.messageId));
  const sweep = run((p: { hash: string }) =>
    db
      .deleteFrom('files')
      .where('hash', '=', p.hash)
      .where(({ not, exists, selectFrom }) =>
        not(
          exists(selectFrom('attachments').select('attachments.hash').whereRef('attachments.hash', '=', 'files.hash')),
        ),
      ),
  );
  return {
    deleteAttachments: async ({ messageId }) => {
      const carried = await fetch(shown().where('attachments.messageId', '=', messageId));
      if (carried.length === 0) return;
      await detach({ messageId });
      for (const { hash } of carried) await sweep({ hash });
    },
    putFile: async (file) => {
      await insert(file);
    },
    getFile: one((p: { hash: string }) => db.selectFrom('files').selectAll().where('hash', '=', p.hash)),
    insertAttachment: put((p: Pick<Attachment, 'messageId' | 'position' | 'name' | 'hash'>) =>
      db.insertInto('attachments').values({ messageId: p.messageId, position: p.position, name: p.name, hash: p.hash }),
    ),
    listAttachments: async ({ messageIds }) =>
      messageIds.length === 0 ? [] : fetch(shown().where('attachments.messageId', 'in', [...messageIds])),
    listCarriedAttachments: all((p: { runId: string }) =>
      shown()
        .innerJoin('deliveries', 'deliveries.messageId', 'attachments.messageId')
        .where('deliveries.runId', '=', p.runId),
    ),
  };
}
