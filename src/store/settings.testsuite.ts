import { describe, expect, test } from 'vitest';
import { settingsOf } from '../core/settings.ts';
import { addAgent, type StoreKit } from './store.testkit.ts';

export function testSettings({ read, write }: StoreKit): void {
  describe('settings', () => {
    test('change from one revision to the next, and only from the one that was read', async () => {
      const agent = await write((tx) => addAgent(tx, { name: 'One', tools: ['a'] }));
      const settings = { ...settingsOf(agent), name: 'Two', role: 'ö', personaArgs: { k: 'v' }, persona: 'p' };
      const { id, revision } = agent;
      await write((tx) => tx.settings.changeSettings({ id, revision, settings }));
      const after = await read((tx) => tx.agents.getAgent({ id }));
      expect(after).toEqual({ ...agent, ...settings, nameKey: 'two', revision: 2 });
      await expect(write((tx) => tx.settings.changeSettings({ id, revision, settings }))).rejects.toThrow('no agent');
    });

    test('are listed by revision, newest first, with the handle of who changed them', async () => {
      const [agent, other] = await write(async (tx) => [await addAgent(tx), await addAgent(tx)] as const);
      const settings = settingsOf({ ...agent, tools: ['a', 'b'] });
      const of = { agentId: agent.id, settings };
      await write(async (tx) => {
        await tx.settings.insertRevision({ ...of, revision: 1, changedBy: null, at: 5 });
        await tx.settings.insertRevision({ ...of, revision: 2, changedBy: 'user', at: 2 ** 41 });
        await tx.settings.insertRevision({ ...of, agentId: other.id, revision: 1, changedBy: null, at: 5 });
      });
      const list = (before: number, limit: number) =>
        read((tx) => tx.settings.listRevisions({ agentId: agent.id, before, limit }));
      const first = { ...of, revision: 1, changedBy: null, by: null, at: 5 };
      expect(await list(99, 9)).toEqual([{ ...of, revision: 2, changedBy: 'user', by: 'user', at: 2 ** 41 }, first]);
      expect(await list(2, 9)).toEqual([first]);
      expect(await list(99, 1)).toHaveLength(1);
    });
  });

  describe('a former name', () => {
    test('leads to its living agent where that is a neighbour or a root', async () => {
      const { lead, child, sibling } = await write(async (tx) => {
        const top = await addAgent(tx, { name: `top-${Math.random()}` });
        const below = await addAgent(tx, { parent: top });
        return { lead: top, child: below, sibling: await addAgent(tx, { parent: top }) };
      });
      const names = [`root-${lead.id}`, `child-${lead.id}`] as const;
      await write(async (tx) => {
        await tx.settings.keepName({ agentId: lead.id, nameKey: names[0] });
        await tx.settings.keepName({ agentId: lead.id, nameKey: names[0] });
        await tx.settings.keepName({ agentId: child.id, nameKey: names[1] });
      });
      expect(await read((tx) => tx.settings.listFormerNames({ agentId: lead.id }))).toEqual([{ nameKey: names[0] }]);
      const root = () => read((tx) => tx.agents.getRootByName({ nameKey: names[0] }));
      const near = ({ id, parentId }: typeof child, nameKey: string) =>
        read((tx) => tx.agents.getNeighbour({ id, parentId: parentId ?? '', nameKey }));
      const named = (nameKey: string) => read((tx) => tx.agents.listFormerlyNamed({ nameKey }));
      expect(await root()).toEqual(lead);
      expect(await near(child, names[0])).toEqual(lead);
      expect(await near(sibling, names[1])).toEqual(child);
      expect(await near(lead, names[1])).toEqual(child);
      expect(await near(child, names[1])).toBeNull();
      expect(await named(names[1])).toEqual([child]);
      await write((tx) => tx.agents.setTerminated({ id: child.id, at: 9 }));
      expect(await named(names[1])).toEqual([]);
      expect(await near(lead, names[1])).toBeNull();
    });
  });
}
