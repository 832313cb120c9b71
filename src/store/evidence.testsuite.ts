import { describe, expect, test } from 'vitest';
import type { Evidence } from '../core/evidence.ts';
import { addAgent, type StoreKit, send } from './store.testkit.ts';

export function testEvidence({ read, write }: StoreKit): void {
  describe('evidence', () => {
    test('is listed by message, run, time and agent, and gets one finding', async () => {
      const [agent, messageId] = await write(async (tx) => {
        const made = await addAgent(tx);
        return [made, await send(tx, { to: made })] as const;
      });
      const claimed = { state: 'claimed', detail: null, tree: null, createdAt: 2 ** 41, checkedAt: null } as const;
      const commit: Evidence = {
        ...{ messageId, position: 0, agentId: agent.id, runId: 'r' },
        ...{ kind: 'commit', subject: 'abc', expected: null, ...claimed },
      };
      const command: Evidence = { ...commit, position: 1, kind: 'command', subject: 'make', expected: '0' };
      for (const one of [command, commit]) await write((tx) => tx.evidence.insertEvidence(one));
      const both = [commit, command];
      expect(await read((tx) => tx.evidence.listEvidence({ messageIds: [messageId, 'other'] }))).toEqual(both);
      expect(await read((tx) => tx.evidence.listEvidence({ messageIds: [] }))).toEqual([]);
      expect(await read((tx) => tx.evidence.listEvidenceOfRun({ runId: 'r' }))).toEqual(both);
      const since = (time: number) => read((tx) => tx.evidence.listEvidenceSince({ since: time, limit: 9 }));
      expect(await since(2 ** 41)).toEqual(both.map((one) => ({ ...one, handle: agent.handle })));
      expect(await since(2 ** 41 + 1)).toEqual([]);

      const found = { messageId, position: 0, state: 'proven', detail: 'It is.', tree: 'abc', at: 7 } as const;
      expect(await write((tx) => tx.evidence.trySetFinding(found))).toBe(true);
      expect(await write((tx) => tx.evidence.trySetFinding({ ...found, state: 'refuted' }))).toBe(false);
      expect(await read((tx) => tx.evidence.listUnchecked({ agentId: agent.id }))).toEqual([command]);
      const { nodeId } = agent;
      expect(await read((tx) => tx.evidence.listUncheckedAgents({ nodeId }))).toEqual([{ agentId: agent.id }]);
      await write((tx) => tx.evidence.trySetFinding({ ...found, position: 1 }));
      expect(await read((tx) => tx.evidence.listUncheckedAgents({ nodeId }))).toEqual([]);
      const [first] = await read((tx) => tx.evidence.listEvidence({ messageIds: [messageId] }));
      expect(first).toEqual({ ...commit, state: 'proven', detail: 'It is.', tree: 'abc', checkedAt: 7 });
    });
  });
}
