import { describe, expect, test } from 'vitest';
import { testAgents } from './agents.testsuite.ts';
import { testAttachments } from './attachments.testsuite.ts';
import { testBudgets } from './budgets.testsuite.ts';
import { testChannels } from './channels.testsuite.ts';
import { testChunkSearch } from './chunk-search.testsuite.ts';
import { testClaims } from './claims.testsuite.ts';
import { testCommits } from './commits.testsuite.ts';
import { testConfigured } from './configured.testsuite.ts';
import { testConversations } from './conversations.testsuite.ts';
import { testDeletions } from './deletions.testsuite.ts';
import { testDeliveries } from './deliveries.testsuite.ts';
import { testDoor } from './door.testsuite.ts';
import { testEvidence } from './evidence.testsuite.ts';
import { testIds } from './ids.testsuite.ts';
import { testInvariants } from './invariants.testsuite.ts';
import { testKnowledge } from './knowledge.testsuite.ts';
import { testLimits } from './limits.testsuite.ts';
import { testMemory } from './memory.testsuite.ts';
import { testNodes } from './nodes.testsuite.ts';
import { testQuestions } from './questions.testsuite.ts';
import { testRecords } from './records.testsuite.ts';
import { testReminders } from './reminders.testsuite.ts';
import { testReports } from './reports.testsuite.ts';
import { testRequests } from './requests.testsuite.ts';
import { testRetention } from './retention.testsuite.ts';
import { testRuns } from './runs.testsuite.ts';
import { testSchedules } from './schedules.testsuite.ts';
import { testSessions } from './sessions.testsuite.ts';
import { testSettings } from './settings.testsuite.ts';
import { testSnapshots } from './snapshots.testsuite.ts';
import { type StoreSubject, useStore } from './store.testkit.ts';
import type { Tx } from './store.ts';
import { testSubscriptions } from './subscriptions.testsuite.ts';
import { testTimers } from './timers.testsuite.ts';
import { testTraces } from './traces.testsuite.ts';
import { testUsage } from './usage.testsuite.ts';
import { testWips } from './wips.testsuite.ts';
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
    testIds(kit);
    testChannels(kit);
    testWorkspaces(kit);
    testWips(kit);
    testNodes(kit);
    testEvidence(kit);
    testSubscriptions(kit);
    testTimers(kit);
    testAttachments(kit);
    testConfigured(kit);
    testConversations(kit);
    testReminders(kit);
    testReports(kit);
    testTraces(kit);
    testSchedules(kit);
    testQuestions(kit);
    testSessions(kit);
    testSnapshots(kit);
    testSettings(kit);
    testLimits(kit);
    testUsage(kit);
    testBudgets(kit);
    testRetention(kit);
    testDeletions(kit);
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
      const pending = [store.write(append), store.write(append)];
      await store.close();
      await Promise.all(pending);
      await expect(store.write(append)).rejects.toMatchObject({ code: 'store' });

      const again = await open();
      await again.write(append);
      expect(await again.read((tx) => tx.events.getEventCounter())).toBe(subject.shared ? 3 : 1);
      await again.close();
      await remove();
    });
  });
}
