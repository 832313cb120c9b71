import { expect, test } from 'vitest';
import { createWorld } from '../../test/helpers/world.ts';
import type { Agent } from '../core/agent.ts';

import { reachedByBoth } from './network.ts';
import { reachOf } from './reach.ts';

test.each([
  [['a.com', 'b.com'], ['b.com'], ['b.com']],
  [['*'], ['a.com'], ['a.com']],
  [['a.com'], ['*'], ['a.com']],
  [['*.a.com', 'b.com'], ['x.a.com', 'a.com'], ['x.a.com']],
  [['*.x.a.com'], ['*.a.com'], ['*.x.a.com']],
  [['a.com:443'], ['a.com'], []],
  [['a.com'], [], []],
  [['*'], ['a.com:8080', '*.b.com'], ['*.b.com']],
  [['*.a.com:8080'], ['x.a.com:8080'], ['x.a.com:8080']],
  [['*.0.0.1', '::1'], ['127.0.0.1', '::1'], ['::1']],
])('the intersection of %j and %j is %j', (a, b, both) => {
  expect(reachedByBoth(a, b)).toEqual(both);
  expect(reachedByBoth(b, a)).toEqual(both);
});

test('an agent loses a host when an ancestor loses it', async () => {
  const world = await createWorld();
  const workspace = async (id: string, network: string[]) => {
    const place = { ownerId: 'user', path: '/tmp', made: false, nodeId: 'node-1', viewOf: null, mode: 'rw' } as const;
    const rest = { network, repository: null, createdAt: 0, deletedAt: null };
    await world.store.write((tx) => tx.workspaces.insertWorkspace({ id, name: id, nameKey: id, ...place, ...rest }));
    return { workspaceId: id };
  };
  const lead = await world.create('lead', null, await workspace('narrowed', ['b.com']));
  const middle = await world.create('middle', lead, await workspace('wide', ['*']));
  const end = await world.create('end', middle, await workspace('own', ['a.com', 'b.com']));
  const hosts = (agent: Agent) => world.store.read(async (tx) => (await reachOf(tx, world.workspaces, agent)).hosts);
  expect(await hosts(lead)).toEqual(['b.com']);
  expect(await hosts(middle)).toEqual(['b.com']);
  expect(await hosts(end)).toEqual(['b.com']);
  expect(await hosts({ ...end, parentId: null, id: 'root' })).toEqual(['a.com', 'b.com']);
});
