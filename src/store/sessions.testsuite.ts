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
  const run = { runId: 'r', runSeq: 2 ** 41 };
  const unseen = { lastRunId: null, lastRunSeq: 0 };

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
      await write((tx) => tx.sessions.seeRun({ ...key, runId: 'q', runSeq: 2 ** 41 + 1 }));
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
  });
}
