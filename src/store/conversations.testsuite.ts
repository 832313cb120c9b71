import { describe, expect, test } from 'vitest';
import type { ConversationEntry } from '../core/conversation.ts';
import { addAgent, entryOf, type StoreKit } from './store.testkit.ts';

export function testConversations({ read, write }: StoreKit): void {
  const create = async () => {
    const agent = await write((tx) => addAgent(tx));
    const session = `s-${agent.id}`;
    const add = (entry: Partial<ConversationEntry>) =>
      write((tx) => tx.conversations.insertEntry(entryOf({ ...entry, agentId: agent.id, session })));
    const list = () => read((tx) => tx.conversations.listEntries({ session }));
    const last = () => read((tx) => tx.conversations.getLastEntry({ session }));
    return { add, list, last, agent, session };
  };

  describe('conversations', () => {
    test('are in order, with their content as it was', async () => {
      const { add, list, last, agent, session } = await create();
      expect([await list(), await last()]).toEqual([[], 0]);
      const content = { parts: [{ type: 'text', text: 'Ünï 🙂' }] };
      await add({ n: 1, content });
      await add({ n: 2, role: 'assistant', inputTokens: 2 ** 41 });
      expect((await list())[0]).toEqual(entryOf({ n: 1, content, agentId: agent.id, session }));
      expect((await list()).map(({ n, inputTokens }) => [n, inputTokens])).toEqual([
        [1, 0],
        [2, 2 ** 41],
      ]);
      expect(await last()).toBe(2);
    });

    test('begin with the last summary, and keep what it does not replace', async () => {
      const { add, list, last } = await create();
      for (const n of [1, 2, 3]) await add({ n });
      await add({ n: 4, role: 'summary', covers: 2 });
      await add({ n: 5 });
      expect((await list()).map(({ n }) => n)).toEqual([4, 3, 5]);
      await add({ n: 6, role: 'summary', covers: 5 });
      expect((await list()).map(({ n }) => n)).toEqual([6]);
      await add({ n: 7 });
      expect((await list()).map(({ n }) => n)).toEqual([6, 7]);
      expect(await last()).toBe(7);
    });

    test('of another session are not mixed in, and a number is given once', async () => {
      const { add } = await create();
      const { add: addOther, list: listOther } = await create();
      await add({ n: 1 });
      await addOther({ n: 1 });
      expect(await listOther()).toHaveLength(1);
      await expect(add({ n: 1 })).rejects.toThrow();
    });
  });
}
