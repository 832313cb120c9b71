import { expect, test } from 'vitest';
import { openStore } from '../store/open.ts';
import { addAgent, NODE } from '../store/store.testkit.ts';
import { followClock } from './clock.ts';

test('an agent that rests does not rest longer because the clock was set back while no daemon ran', async () => {
  const store = await openStore({ path: ':memory:' });
  const { id, nodeId } = await store.write((tx) => addAgent(tx));
  await store.write((tx) => tx.nodes.registerNode({ ...NODE, id: nodeId, clockAt: 200_000_000 }));
  await store.write((tx) => tx.agents.restAgent({ id, until: 200_060_000, rests: 1 }));
  const start = async (now: number) => {
    await followClock({ store, home: { nodeId }, clock: () => now });
    return (await store.read((tx) => tx.agents.getAgent({ id })))?.restUntil;
  };
  expect(await start(200_010_000)).toBe(200_060_000);
  expect(await start(100_000_000)).toBe(100_060_000);
  await store.close();
});
