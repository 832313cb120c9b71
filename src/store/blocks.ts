import type { Block, BlockChange } from '../core/memory.ts';
import type { Memory } from './memory-tx.ts';
import type { PassageVectorQueries } from './passage-vectors.ts';
import type { PassageQueries } from './passages.ts';
import type { Queries } from './query.ts';
import type { BlockUpdate } from './views.ts';

export type BlockQueries = Omit<Memory, keyof PassageQueries | keyof PassageVectorQueries>;

/** Only `getBlockOf` returns deleted blocks, for their history. */
export function blockQueries({ db, all, one, put, run, change, attempt }: Queries): BlockQueries {
  const views = () =>
    db
      .selectFrom('blocks')
      .innerJoin('participants', 'participants.id', 'ownerId')
      .selectAll('blocks')
      .select('participants.handle as owner');
  const seen = (p: { readerId: string }) =>
    views()
      .where('blocks.deletedAt', 'is', null)
      .where((eb) =>
        eb.or([
          eb('blocks.ownerId', '=', p.readerId),
          eb(
            'blocks.id',
            'in',
            db.selectFrom('block_readers').select('blockId').where('block_readers.agentId', '=', p.readerId),
          ),
        ]),
      );

  return {
    insertBlock: put((p: Block) =>
      db.insertInto('blocks').values({
        id: p.id,
        ownerId: p.ownerId,
        label: p.label,
        labelKey: p.labelKey,
        text: p.text,
        version: p.version,
        open: p.open,
        createdAt: p.createdAt,
        updatedAt: p.updatedAt,
        deletedAt: p.deletedAt,
      }),
    ),
    /** Updates it if it still has the previous version. Returns whether it did. */
    tryUpdateBlock: attempt((p: BlockUpdate) =>
      db
        .updateTable('blocks')
        .set({ text: p.text, version: p.version, updatedAt: p.at, deletedAt: p.deletedAt })
        .where('id', '=', p.id)
        .where('version', '=', p.before),
    ),
    /** The owner's own block with that label, even if it is deleted. */
    getBlockOf: one((p: { ownerId: string; labelKey: string }) =>
      views().where('blocks.ownerId', '=', p.ownerId).where('blocks.labelKey', '=', p.labelKey),
    ),
    /** Its own block or one shared with it. */
    getSeenBlock: one((p: { readerId: string; labelKey: string }) => seen(p).where('blocks.labelKey', '=', p.labelKey)),
    /** In order of creation. */
    listSeenBlocks: all((p: { readerId: string }) =>
      seen(p).orderBy('blocks.createdAt').orderBy('blocks.labelKey').orderBy('blocks.id'),
    ),
    setBlockOpen: change('block', (p: { id: string; open: boolean }) =>
      db.updateTable('blocks').set({ open: p.open }).where('id', '=', p.id),
    ),
    insertBlockReader: put((p: { blockId: string; agentId: string }) =>
      db.insertInto('block_readers').values({ blockId: p.blockId, agentId: p.agentId }),
    ),
    deleteBlockReaders: run((p: { blockId: string }) =>
      db.deleteFrom('block_readers').where('blockId', '=', p.blockId),
    ),
    listBlockReaders: all((p: { blockId: string }) =>
      db
        .selectFrom('block_readers')
        .innerJoin('agents', 'agents.id', 'block_readers.agentId')
        .select(['agents.id', 'agents.handle'])
        .where('block_readers.blockId', '=', p.blockId)
        .orderBy('agents.handle'),
    ),
    insertBlockChange: put((p: BlockChange) =>
      db
        .insertInto('block_changes')
        .values({ blockId: p.blockId, version: p.version, text: p.text, changedBy: p.changedBy, at: p.at }),
    ),
    getBlockChange: one((p: { blockId: string; version: number }) =>
      db.selectFrom('block_changes').selectAll().where('blockId', '=', p.blockId).where('version', '=', p.version),
    ),
    /** Newest first, with the handle of each author. */
    listBlockChanges: all((p: { blockId: string; before: number; limit: number }) =>
      db
        .selectFrom('block_changes')
        .innerJoin('participants', 'participants.id', 'block_changes.changedBy')
        .selectAll('block_changes')
        .select('participants.handle as by')
        .where('block_changes.blockId', '=', p.blockId)
        .where('block_changes.version', '<', p.before)
        .orderBy('block_changes.version', 'desc')
        .limit(p.limit),
    ),
  };
}
