import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { Agent } from '../core/agent.ts';
import { sessionKeyOf } from '../core/session.ts';
import type { Workspace } from '../core/workspace.ts';
import { addAgent, queueRun, type StoreKit } from './store.testkit.ts';

export function testNodes({ read, write }: StoreKit): void {
  const workspace = (id: string, change: Partial<Workspace>): Workspace => ({
    id,
    name: id,
    nameKey: id,
    ownerId: 'user',
    path: `/old/workspaces/${id}`,
    made: true,
    nodeId: 'node',
    viewOf: null,
    mode: 'rw',
    network: null,
    repository: null,
    createdAt: 1,
    deletedAt: null,
    ...change,
  });

  test('a node registers once and is updated later; nodes that never registered but have agents are listed too', async () => {
    const [id, stranger] = [randomUUID(), randomUUID()];
    await write(async (tx) => {
      await tx.nodes.seeNode({ id, name: 'host', home: '/a', seenAt: 1 });
      await tx.nodes.seeNode({ id, name: 'host-2', home: '/b', seenAt: 2 });
      await addAgent(tx, { nodeId: id });
      await addAgent(tx, { nodeId: stranger });
      await addAgent(tx, { nodeId: stranger, terminatedAt: 1 });
    });
    expect(await read((tx) => tx.nodes.getNode({ id }))).toEqual({ id, name: 'host-2', home: '/b', seenAt: 2 });
    expect(await read((tx) => tx.nodes.getNode({ id: stranger }))).toBeNull();
    const nodes = (await read((tx) => tx.nodes.listNodes())).filter((node) => node.id === id || node.id === stranger);
    expect(nodes).toEqual([
      { id, name: 'host-2', home: '/b', seenAt: 2, agents: 1 },
      { id: stranger, name: null, home: null, seenAt: null, agents: 1 },
    ]);
  });

  test('adoptNode() gives agents, workspaces and waiting runs to another node and removes the first', async () => {
    const [from, to, other] = [randomUUID(), randomUUID(), randomUUID()];
    const { agent, stays, run } = await write(async (tx) => {
      await tx.nodes.seeNode({ id: from, name: 'host', home: '/old', seenAt: 1 });
      const first = await addAgent(tx, { nodeId: from });
      await tx.workspaces.insertWorkspace(workspace(randomUUID(), { nodeId: from, ownerId: first.id }));
      return {
        agent: first,
        stays: await addAgent(tx, { nodeId: other }),
        run: await queueRun(tx, first),
      };
    });
    expect(await write((tx) => tx.nodes.adoptNode({ from, to }))).toBe(1);
    expect((await read((tx) => tx.agents.listAgentsOn({ nodeId: to }))).map(({ id }) => id)).toEqual([agent.id]);
    expect((await read((tx) => tx.agents.listAgentsOn({ nodeId: other }))).map(({ id }) => id)).toEqual([stays.id]);
    expect(await read((tx) => tx.workspaces.listMadeWorkspaces({ nodeId: to }))).toHaveLength(1);
    expect(await read((tx) => tx.runs.getRun({ id: run.id }))).toMatchObject({ nodeId: to, state: 'created' });
    expect(await read((tx) => tx.nodes.getNode({ id: from }))).toBeNull();
  });

  test('moveDirectory() moves paths inside a directory, but not paths that only share a prefix', async () => {
    const nodeId = randomUUID();
    const [a, b] = [randomUUID(), randomUUID()];
    await write(async (tx) => {
      await tx.workspaces.insertWorkspace(workspace(a, { nodeId, path: '/old/w' }));
      await tx.workspaces.insertWorkspace(workspace(b, { nodeId, path: '/old/w2' }));
      const agent = await addAgent(tx, { nodeId, workspace: '/old/w/inside', workspaceId: a });
      await tx.sessions.nameSession({ ...sessionKeyOf(agent), handle: 's' });
      await tx.workspaces.insertLink({
        workspaceId: b,
        target: 'x',
        source: '/old/w/docs',
        mode: 'ro',
        madeBy: 'user',
        createdAt: 1,
      });
      await tx.workspaces.moveDirectory({ nodeId, from: '/old/w', to: '/new/place' });
    });
    const paths = await read((tx) => tx.workspaces.listMadeWorkspaces({ nodeId }));
    expect(paths.map(({ path }) => path)).toEqual(['/new/place', '/old/w2']);
    const [agent] = await read((tx) => tx.agents.listAgentsOn({ nodeId }));
    expect(agent?.workspace).toBe('/new/place/inside');
    expect(await read((tx) => tx.sessions.getSession(sessionKeyOf(agent as Agent)))).toMatchObject({ handle: 's' });
    expect((await read((tx) => tx.workspaces.listLinks({ workspaceId: b })))[0]?.source).toBe('/new/place/docs');
  });
}
