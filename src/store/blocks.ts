import type { Queries } from './query.ts';
import type { BlockChangeRow, BlockRow } from './schema.ts';

/** A block with the handle of its owner. */
export interface BlockView extends BlockRow {
  readonly owner: string;
}

/** Deleted ones are seen only by `getBlockOf`, which knows their history. */
export function blockQueries({ db, all, one, run }: Queries) {
  const views = () =>
    db
      .selectFrom('blocks')
      .innerJoin('participants', 'participants.id', 'owner_id')
      .selectAll('blocks')
      .select('participants.handle as owner');
  const seen = (p: { readerId: string }) =>
    views()
      .where('blocks.deleted_at', 'is', null)
      .where((eb) =>
        eb.or([
          eb('blocks.owner_id', '=', p.readerId),
          eb(
            'blocks.id',
            'in',
            db.selectFrom('block_readers').select('block_id').where('block_readers.agent_id', '=', p.readerId),
          ),
        ]),
      );

  return {
    insertBlock: run((p: BlockRow) =>
      db.insertInto('blocks').values({
        id: p.id,
        owner_id: p.owner_id,
        label: p.label,
        label_key: p.label_key,
        text: p.text,
        version: p.version,
        open: p.open,
        created_at: p.created_at,
        updated_at: p.updated_at,
        deleted_at: p.deleted_at,
      }),
    ),
    /** Changes it if it is still at the version before; answers how many rows that were. */
    updateBlock: run(
      (p: { id: string; before: number; version: number; text: string; at: number; deletedAt: number | null }) =>
        db
          .updateTable('blocks')
          .set({ text: p.text, version: p.version, updated_at: p.at, deleted_at: p.deletedAt })
          .where('id', '=', p.id)
          .where('version', '=', p.before),
    ),
    /** The owner's own of that label, also when it is deleted. */
    getBlockOf: one((p: { ownerId: string; labelKey: string }) =>
      views().where('blocks.owner_id', '=', p.ownerId).where('blocks.label_key', '=', p.labelKey),
    ),
    /** Its own, or one that it may see. */
    getSeenBlock: one((p: { readerId: string; labelKey: string }) =>
      seen(p).where('blocks.label_key', '=', p.labelKey),
    ),
    /** In the order in which they came to be. */
    listSeenBlocks: all((p: { readerId: string }) =>
      seen(p).orderBy('blocks.created_at').orderBy('blocks.label_key').orderBy('blocks.id'),
    ),
    setBlockOpen: run((p: { id: string; open: number }) =>
      db.updateTable('blocks').set({ open: p.open }).where('id', '=', p.id),
    ),
    insertBlockReader: run((p: { blockId: string; agentId: string }) =>
      db.insertInto('block_readers').values({ block_id: p.blockId, agent_id: p.agentId }),
    ),
    deleteBlockReaders: run((p: { blockId: string }) =>
      db.deleteFrom('block_readers').where('block_id', '=', p.blockId),
    ),
    listBlockReaders: all((p: { blockId: string }) =>
      db
        .selectFrom('block_readers')
        .innerJoin('agents', 'agents.id', 'block_readers.agent_id')
        .select(['agents.id', 'agents.handle'])
        .where('block_readers.block_id', '=', p.blockId)
        .orderBy('agents.handle'),
    ),
    insertBlockChange: run((p: BlockChangeRow) =>
      db
        .insertInto('block_changes')
        .values({ block_id: p.block_id, version: p.version, text: p.text, changed_by: p.changed_by, at: p.at }),
    ),
    getBlockChange: one((p: { blockId: string; version: number }) =>
      db.selectFrom('block_changes').selectAll().where('block_id', '=', p.blockId).where('version', '=', p.version),
    ),
    /** Newest first, with the handle of who made each. */
    listBlockChanges: all((p: { blockId: string; before: number; limit: number }) =>
      db
        .selectFrom('block_changes')
        .innerJoin('participants', 'participants.id', 'block_changes.changed_by')
        .selectAll('block_changes')
        .select('participants.handle as by')
        .where('block_changes.block_id', '=', p.blockId)
        .where('block_changes.version', '<', p.before)
        .orderBy('block_changes.version', 'desc')
        .limit(p.limit),
    ),
  };
}
