import { expect, test } from 'vitest';
import { addAgent, type StoreKit } from './store.testkit.ts';
import type { IdKind } from './store.ts';

export function testIds({ read, write }: StoreKit): void {
  test('ids are found by their end, whatever the case of its letters', async () => {
    const agent = await write((tx) => addAgent(tx));
    const find = (kind: IdKind, ending: string) => read((tx) => tx.ids.listIdsEnding({ kind, ending }));
    expect(await find('agents', agent.id.slice(-12).toUpperCase())).toEqual([agent.id]);
    expect(await find('agents', agent.id.slice(0, 12))).toEqual([]);
    for (const kind of ['documents', 'messages', 'passages', 'runs', 'tokens', 'workspaces'] as const) {
      expect(await find(kind, agent.id.slice(-12))).toEqual([]);
    }
  });
}
