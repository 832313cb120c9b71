import { isOneOf, listOf } from './key-list.ts';
import type { Queries } from './query.ts';
import type { SnapshotEntry, SnapshotFile } from './views.ts';

/** The files of sessions, by hash, so that what did not change is stored once. */
export interface Snapshots {
  /** Which of these files are stored. They stay for a while, whether a snapshot refers to them or not. */
  useFiles(p: { hashes: readonly string[]; now: number }): Promise<string[]>;
  putSnapshotFile(p: SnapshotFile & { now: number }): Promise<void>;
  /** Its files must be stored. It stays for a while, and then as long as a session refers to it. */
  putSnapshot(p: { snapshot: string; entries: readonly SnapshotEntry[]; now: number }): Promise<void>;
  listEntries(p: { snapshot: string }): Promise<SnapshotEntry[]>;
  getSnapshotFile(p: { hash: string }): Promise<SnapshotFile | null>;
  /** Removes what no session refers to and what was last used before. Returns the number of rows. */
  pruneSnapshots(p: { before: number; limit: number }): Promise<number>;
}

export function snapshotQueries({ engine, db, all, one, put, run, fetch }: Queries): Snapshots {
  const touch = all((p: { hashes: string; now: number }) =>
    db
      .updateTable('snapshot_files')
      .set({ usedAt: p.now })
      .where(isOneOf(engine, 'hash', p.hashes, 'text'))
      .returning('hash'),
  );
  const insertEntry = put((p: SnapshotEntry & { snapshot: string; now: number }) =>
    db
      .insertInto('snapshot_entries')
      .values({ snapshot: p.snapshot, path: p.path, hash: p.hash, usedAt: p.now })
      .onConflict((conflict) =>
        conflict.columns(['snapshot', 'path']).doUpdateSet((eb) => ({ usedAt: eb.ref('excluded.usedAt') })),
      ),
  );
  const removeEntries = run((p: { snapshots: string }) =>
    db.deleteFrom('snapshot_entries').where(isOneOf(engine, 'snapshot', p.snapshots, 'text')),
  );
  const removeFiles = run((p: { hashes: string; before: number }) =>
    db
      .deleteFrom('snapshot_files')
      .where(isOneOf(engine, 'hash', p.hashes, 'text'))
      .where('usedAt', '<', p.before)
      .where(({ not, exists, selectFrom }) =>
        not(
          exists(
            selectFrom('snapshot_entries')
              .select('snapshot_entries.path')
              .whereRef('snapshot_entries.hash', '=', 'snapshot_files.hash'),
          ),
        ),
      ),
  );
  return {
    useFiles: async ({ hashes, now }) => (await touch({ hashes: listOf(engine, hashes), now })).map(({ hash }) => hash),
    putSnapshotFile: put((p: SnapshotFile & { now: number }) =>
      db
        .insertInto('snapshot_files')
        .values({ hash: p.hash, size: p.size, bytes: p.bytes, usedAt: p.now })
        .onConflict((conflict) => conflict.column('hash').doUpdateSet((eb) => ({ usedAt: eb.ref('excluded.usedAt') }))),
    ),
    putSnapshot: async ({ snapshot, entries, now }) => {
      for (const { path, hash } of entries) await insertEntry({ snapshot, path, hash, now });
    },
    listEntries: all((p: { snapshot: string }) =>
      db.selectFrom('snapshot_entries').select(['path', 'hash']).where('snapshot', '=', p.snapshot).orderBy('path'),
    ),
    getSnapshotFile: one((p: { hash: string }) =>
      db.selectFrom('snapshot_files').select(['hash', 'size', 'bytes']).where('hash', '=', p.hash),
    ),
    pruneSnapshots: async ({ before, limit }) => {
      const old = await fetch(
        db
          .selectFrom('snapshot_entries')
          .select('snapshot')
          .groupBy('snapshot')
          .having((eb) => eb(eb.fn.max('usedAt'), '<', before))
          .having(({ not, exists, selectFrom }) =>
            not(
              exists(
                selectFrom('sessions')
                  .select('sessions.agentId')
                  .whereRef('sessions.snapshot', '=', 'snapshot_entries.snapshot'),
              ),
            ),
          )
          .limit(limit),
      );
      const entries = await removeEntries({
        snapshots: listOf(
          engine,
          old.map(({ snapshot }) => snapshot),
        ),
      });
      const unused = await fetch(
        db
          .selectFrom('snapshot_files')
          .select('hash')
          .where('usedAt', '<', before)
          .where(({ not, exists, selectFrom }) =>
            not(
              exists(
                selectFrom('snapshot_entries')
                  .select('snapshot_entries.path')
                  .whereRef('snapshot_entries.hash', '=', 'snapshot_files.hash'),
              ),
            ),
          )
          .limit(limit),
      );
      const hashes = listOf(
        engine,
        unused.map(({ hash }) => hash),
      );
      return entries + (await removeFiles({ hashes, before }));
    },
  };
}
