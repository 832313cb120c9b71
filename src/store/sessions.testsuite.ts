import { describe, expect, test } from 'vitest';
import { sessionKeyOf } from '../core/session.ts';
import type { StoreKit } from './store.testkit.ts';
import { addAgent } from './store.testkit.ts';

export function testSessions({ read, write }: StoreKit): void {
  const create = async () => {
    const key = sessionKeyOf(await write((tx) => addAgent(tx)));
    return {
      key,
      get: (other: Partial<typeof key> = {}) => read((tx) => tx.sessions.getSession({ ...key, ...other })),
    };
  };
  const run = { runId: 'r', runSeq: 2 ** 41, snapshot: null };
  const unseen = { lastRunId: null, lastRunSeq: 0, snapshot: null, snapshotHandle: null, takenFrom: null };

  describe('sessions', () => {
    test('of another agent, provider, account or path are others', async () => {
      const { key, get } = await create();
      const { key: other } = await create();
      await write((tx) => tx.sessions.nameSession({ ...key, handle: 's' }));
      expect(await get()).toEqual({ ...key, ...unseen, handle: 's', lost: false });
      for (const part of [{ agentId: other.agentId }, { provider: 'p' }, { account: 'a' }, { insidePath: '/p' }]) {
        expect(await get(part)).toBeNull();
        await write((tx) => tx.sessions.seeRun({ ...key, ...part, ...run }));
        expect(await get(part)).toMatchObject({ handle: null, lastRunId: 'r' });
      }
      expect(await get()).toMatchObject({ ...unseen, handle: 's' });
    });

    test('keep what they saw under another name, and their name when they see a run', async () => {
      const { key, get } = await create();
      await write((tx) => tx.sessions.seeRun({ ...key, ...run }));
      await write((tx) => tx.sessions.nameSession({ ...key, handle: 's' }));
      await write((tx) => tx.sessions.nameSession({ ...key, handle: 't' }));
      expect(await get()).toMatchObject({ handle: 't', lastRunId: 'r', lastRunSeq: 2 ** 41 });
      await write((tx) => tx.sessions.seeRun({ ...key, runId: 'q', runSeq: 2 ** 41 + 1, snapshot: null }));
      expect(await get()).toMatchObject({ handle: 't', lastRunId: 'q', lastRunSeq: 2 ** 41 + 1 });
    });

    test('that are lost have no name and saw nothing, and are lost until they see a run', async () => {
      const { key, get } = await create();
      await write((tx) => tx.sessions.nameSession({ ...key, handle: 's' }));
      await write((tx) => tx.sessions.seeRun({ ...key, ...run }));
      await write((tx) => tx.sessions.loseSession(key));
      expect(await get()).toEqual({ ...key, ...unseen, handle: null, lost: true });
      await write((tx) => tx.sessions.nameSession({ ...key, handle: 't' }));
      expect(await get()).toMatchObject({ ...unseen, handle: 't', lost: true });
      await write((tx) => tx.sessions.seeRun({ ...key, ...run }));
      expect(await get()).toMatchObject({ handle: 't', lastRunId: 'r', lost: false });
      const { key: fresh, get: getFresh } = await create();
      await write((tx) => tx.sessions.loseSession(fresh));
      expect(await getFresh()).toMatchObject({ ...unseen, handle: null, lost: true });
    });

    test('are taken over as they were when they last saw a run', async () => {
      const { key, get } = await create();
      await write((tx) => tx.sessions.nameSession({ ...key, handle: 's' }));
      await write((tx) => tx.sessions.seeRun({ ...key, ...run, snapshot: 'hash' }));
      // The program gave it another name in a turn that did not end.
      await write((tx) => tx.sessions.nameSession({ ...key, handle: 't' }));
      expect(await get()).toMatchObject({ handle: 't', snapshot: 'hash', snapshotHandle: 's' });
      await write((tx) => tx.sessions.takeSession({ ...key, from: 'b' }));
      expect(await get()).toMatchObject({ handle: 's', lastRunId: 'r', snapshot: 'hash', takenFrom: 'b' });
      await write((tx) => tx.sessions.seeRun({ ...key, runId: 'q', runSeq: 2 ** 41 + 1, snapshot: null }));
      expect(await get()).toMatchObject({ handle: 's', lastRunId: 'q', snapshot: null, takenFrom: null });
      expect(await read((tx) => tx.sessions.listSessions(key))).toMatchObject([{ lastRunId: 'q' }]);
    });

    test('are left behind without a name, and with nothing that they saw', async () => {
      const { key, get } = await create();
      await write((tx) => tx.sessions.leaveSession({ ...key, from: 'b' }));
      expect(await get()).toEqual({ ...key, ...unseen, handle: null, lost: false, takenFrom: 'b' });
      await write((tx) => tx.sessions.nameSession({ ...key, handle: 's' }));
      await write((tx) => tx.sessions.seeRun({ ...key, ...run }));
      await write((tx) => tx.sessions.leaveSession({ ...key, from: 'c' }));
      expect(await get()).toEqual({ ...key, ...unseen, handle: null, lost: false, takenFrom: 'c' });
    });
  });
}
