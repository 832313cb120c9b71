import { describe, expect, test } from 'vitest';
import { newId } from '../core/id.ts';
import type { Subscription } from '../core/subscription.ts';
import { addAgent, type StoreKit } from './store.testkit.ts';

export function testSubscriptions({ read, write }: StoreKit): void {
  describe('subscriptions', () => {
    test('are listed for their agent and for the agent that they are about', async () => {
      const [a, b] = await write(async (tx) => {
        const one = await addAgent(tx);
        return [one, await addAgent(tx, { parent: one })] as const;
      });
      const states = { fromState: '*', toState: 'idle' } as const;
      const about = { agentId: a.id, subjectId: b.id, ...states, once: true, chainDepth: 2, payerId: null };
      const later: Subscription = { id: newId(), ...about, messageId: null, createdAt: 2 ** 41 };
      const first: Subscription = { ...later, id: newId(), once: false, createdAt: 5 };
      for (const one of [later, first]) await write((tx) => tx.subscriptions.insertSubscription(one));
      expect(await read((tx) => tx.subscriptions.listSubscriptions({ agentId: a.id }))).toEqual([first, later]);
      expect(await read((tx) => tx.subscriptions.listSubscribers({ subjectId: b.id }))).toEqual([first, later]);
      expect(await read((tx) => tx.subscriptions.listSubscribers({ subjectId: a.id }))).toEqual([]);
      await write((tx) => tx.subscriptions.setNotified({ id: first.id, messageId: 'm' }));
      expect(await read((tx) => tx.subscriptions.getSubscription({ id: first.id }))).toEqual({
        ...first,
        messageId: 'm',
      });
      await write((tx) => tx.subscriptions.deleteSubscription({ id: first.id }));
      expect(await read((tx) => tx.subscriptions.getSubscription({ id: first.id }))).toBeNull();
      await expect(write((tx) => tx.subscriptions.deleteSubscription({ id: first.id }))).rejects.toThrow();
    });
  });
}
