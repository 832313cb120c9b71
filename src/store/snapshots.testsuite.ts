import { describe, expect, test } from 'vitest';
import { sessionKeyOf } from '../core/session.ts';
import type { StoreKit } from './store.testkit.ts';
import { addAgent } from './store.testkit.ts';

export function testSnapshots({ read, write }: StoreKit): void {
  const put = (snapshot: string, hashes: readonly string[], now: number) =>
    write(async (tx) => {
      for (const hash of hashes) {
        await tx.snapshots.putSnapshotFile({ hash, size: 1, bytes: new Uint8Array([1, 2, 255]), now });
      }
      const entries = hashes.map((hash) => ({ path: `.p/${hash}`, hash }));
      await tx.snapshots.putSnapshot({ snapshot, entries, now });
    });
  const entriesOf = async (snapshot: string) =>
    (await read((tx) => tx.snapshots.listEntries({ snapshot }))).map(({ path, hash }) => `${path} ${hash}`);

  describe('snapshots', () => {
    test('have files by path and hash, each stored once', async () => {
      await put('s1', ['f1', 'f2'], 10);
      await put('s2', ['f2'], 11);
      expect(await entriesOf('s1')).toEqual(['.p/f1 f1', '.p/f2 f2']);
      expect(await entriesOf('s2')).toEqual(['.p/f2 f2']);
      expect(await entriesOf('s3')).toEqual([]);
      const file = await read((tx) => tx.snapshots.getSnapshotFile({ hash: 'f1' }));
      expect(file).toMatchObject({ hash: 'f1', size: 1 });
      expect([...(file?.bytes ?? [])]).toEqual([1, 2, 255]);
      expect(await write((tx) => tx.snapshots.useFiles({ hashes: ['f1', 'f9'], now: 12 }))).toEqual(['f1']);
    });

    test('are removed when no session refers to them, and what was used lately is kept', async () => {
      const key = sessionKeyOf(await write((tx) => addAgent(tx)));
      await put('kept', ['k1'], 100);
      await put('old', ['k1', 'o1', 'o2'], 100);
      await put('young', ['y1'], 200);
      await write((tx) => tx.sessions.seeRun({ ...key, runId: 'r', runSeq: 1, snapshot: 'kept' }));
      // A turn that is about to store a snapshot has looked for this file.
      await write((tx) => tx.snapshots.useFiles({ hashes: ['o2'], now: 150 }));
      await write((tx) => tx.snapshots.pruneSnapshots({ before: 150, limit: 10 }));
      expect(await entriesOf('kept')).toEqual(['.p/k1 k1']);
      expect(await entriesOf('young')).toEqual(['.p/y1 y1']);
      expect(await entriesOf('old')).toEqual([]);
      expect(await read((tx) => tx.snapshots.getSnapshotFile({ hash: 'o1' }))).toBeNull();
      for (const hash of ['k1', 'y1', 'o2']) {
        expect(await read((tx) => tx.snapshots.getSnapshotFile({ hash }))).not.toBeNull();
      }
      expect(await write((tx) => tx.snapshots.pruneSnapshots({ before: 150, limit: 10 }))).toBe(0);
    });
  });
}
