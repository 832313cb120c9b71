import { describe, expect, test } from 'vitest';
import { testAgents } from './agents.testsuite.ts';
import { testAttachments } from './attachments.testsuite.ts';
import { testChannels } from './channels.testsuite.ts';
import { testChunkSearch } from './chunk-search.testsuite.ts';
import { testClaims } from './claims.testsuite.ts';
import { testCommits } from './commits.testsuite.ts';
import { testConversations } from './conversations.testsuite.ts';
import { testDeliveries } from './deliveries.testsuite.ts';
import { testDoor } from './door.testsuite.ts';
import { testInvariants } from './invariants.testsuite.ts';
import { testKnowledge } from './knowledge.testsuite.ts';
import { testMemory } from './memory.testsuite.ts';
import { testNodes } from './nodes.testsuite.ts';
import { testRecords } from './records.testsuite.ts';
import { testReminders } from './reminders.testsuite.ts';
import { testRequests } from './requests.testsuite.ts';
import { testRetention } from './retention.testsuite.ts';
import { testRuns } from './runs.testsuite.ts';
import { testSessions } from './sessions.testsuite.ts';
import { type StoreSubject, useStore } from './store.testkit.ts';
import type { Tx } from './store.ts';
import { testTimers } from './timers.testsuite.ts';
import { testWorkspaces } from './workspaces.testsuite.ts';

/** The contract of every engine. */
export function testStore(subject: StoreSubject): void {
  describe(subject.name, () => {
    const kit = useStore(subject);
    testAgents(kit);
    testRequests(kit);
    testDeliveries(kit);
    testRuns(kit);
    testRecords(kit);
    testClaims(kit);
    testDoor(kit);
    testChannels(kit);
    testWorkspaces(kit);
    testNodes(kit);
    testTimers(kit);
    testAttachments(kit);
    testConversations(kit);
    testReminders(kit);
    testSessions(kit);
    testRetention(kit);
    testMemory(kit);
    testKnowledge(kit);
    testChunkSearch(kit);
    testCommits(kit);
    testInvariants(kit);

    test('every query was called by a test above', async () => {
      expect(await kit.uncalled()).toEqual([]);
    });

    test('a closing store finishes pending work, refuses new work, and keeps everything', async () => {
      const { open, remove } = await subject.create();
      const append = (tx: Tx) => tx.events.appendEvent({ type: 'agent_resumed', at: 1, data: { agentId: 'a' } });
      const store = await open();
      const numbers = [store.write(append), store.write(append)];
      await store.close();
      expect(await Promise.all(numbers)).toEqual([1, 2]);
      await expect(store.write(append)).rejects.toMatchObject({ code: 'store' });

      const again = await open();
      expect(await again.write(append)).toBe(subject.shared ? 3 : 1);
      await again.close();
      await remove();
    });
  });
}
