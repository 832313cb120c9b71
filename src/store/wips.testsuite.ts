import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { addAgent, type StoreKit, wipOf } from './store.testkit.ts';

export function testWips({ read, write }: StoreKit): void {
  test('a git workspace knows what was pushed of it, after which run, and why not', async () => {
    const workspaceId = randomUUID();
    const agent = await write((tx) => addAgent(tx));
    const get = () => read((tx) => tx.wips.getWip({ workspaceId }));
    expect(await get()).toBeNull();
    const wip = wipOf({ workspaceId, agentId: agent.id });
    await write(async (tx) => {
      await tx.workspaces.insertWorkspace({
        id: workspaceId,
        name: workspaceId,
        nameKey: workspaceId,
        ownerId: agent.id,
        path: `/w/${workspaceId}`,
        made: true,
        nodeId: agent.nodeId,
        viewOf: null,
        mode: 'rw',
        network: null,
        repository: null,
        createdAt: 1,
        deletedAt: null,
      });
      await tx.wips.insertWip(wip);
    });
    expect(await get()).toEqual(wip);
    const pushed = { hash: 'h', head: 'c', branch: 'main', leftOut: ['a'], problem: null };
    await write((tx) => tx.wips.seeWork({ work: { workspaceId, ...pushed }, runId: 'r1' }));
    expect(await get()).toEqual({ ...wip, ...pushed, runId: 'r1', saved: true });
    await write((tx) => tx.wips.seeWork({ work: { workspaceId, problem: 'no', leftOut: [] }, runId: 'r2' }));
    const failed = { ...wip, ...pushed, runId: 'r1', saved: false, problem: 'no', leftOut: [] };
    expect(await get()).toEqual(failed);
    await write((tx) => tx.wips.moveWip({ workspaceId }));
    expect(await get()).toEqual({ ...failed, moves: 1 });
    await write((tx) => tx.leftovers.leaveRef({ workspaceId }));
    await write((tx) => tx.workspaces.tryRemoveWorkspace({ id: workspaceId }));
    expect(await get()).toBeNull();
    const left = { site: wip.remote, agentId: agent.id };
    const list = () => read((tx) => tx.leftovers.listLeftovers({ site: wip.remote, limit: 9 }));
    expect(await list()).toContainEqual({ ...left, hash: 'h', at: 1 });
    await write((tx) => tx.leftovers.deleteLeftover(left));
    expect(await list()).not.toContainEqual(expect.objectContaining(left));
  });
}
