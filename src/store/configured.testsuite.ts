import { describe, expect, test } from 'vitest';
import { newId } from '../core/id.ts';
import { addAgent, type StoreKit } from './store.testkit.ts';

export function testConfigured({ read, write }: StoreKit): void {
  describe('what was made from the configuration', () => {
    test('is kept by its key, and forgets its agent when that is deleted', async () => {
      const { id: agentId } = await write((tx) => addAgent(tx));
      const key = newId();
      const get = (kind: 'member' | 'channel') => read((tx) => tx.configured.getConfigured({ kind, key }));
      expect(await get('member')).toBeNull();
      const first = { kind: 'member', key, agentId, applied: {}, at: 5 } as const;
      await write((tx) => tx.configured.putConfigured(first));
      const second = { ...first, applied: { tools: { file: ['ö'], value: null } }, at: 2 ** 41 };
      await write((tx) => tx.configured.putConfigured(second));
      expect(await get('member')).toEqual(second);
      expect(await get('channel')).toBeNull();
      const all = await read((tx) => tx.configured.listConfigured({ kind: 'member' }));
      expect(all.filter((one) => one.key === key)).toEqual([second]);
      expect(await write((tx) => tx.configured.tryForgetAgent({ agentId }))).toBe(true);
      expect(await write((tx) => tx.configured.tryForgetAgent({ agentId }))).toBe(false);
      expect(await get('member')).toEqual({ ...second, agentId: null });
    });
  });
}
