import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { addAgent, queueRun, type StoreKit } from './store.testkit.ts';
import type { WorkspaceRow } from './store.ts';

export function testNodes({ read, write }: StoreKit): void {
  const workspace = (id: string, change: Partial<WorkspaceRow>): WorkspaceRow => ({
    id,
    name: id,
    name_key: id,
    owner_id: 'user',
    path: `/old/workspaces/${id}`,
    made: 1,
    node_id: 'node',
    view_of: null,
    mode: 'rw',
    network: null,
    repository: null,
    created_at: 1,
    deleted_at: null,
    ...change,
  });

  test('a node registers once and is seen again; agents of a node that never registered are listed too', async () => {
    const [id, stranger] = [randomUUID(), randomUUID()];
    await write(async (tx) => {
      await tx.seeNode({ id, name: 'host', home: '/a', seen_at: 1 });
      await tx.seeNode({ id, name: 'host-2', home: '/b', seen_at: 2 });
      await addAgent(tx, { node_id: id });
      await addAgent(tx, { node_id: stranger });
      await addAgent(tx, { node_id: stranger, terminated_at: 1 });
    });
    expect(await read((tx) => tx.getNode({ id }))).toEqual({ id, name: 'host-2', home: '/b', seen_at: 2 });
    expect(await read((tx) => tx.getNode({ id: stranger }))).toBeNull();
    const nodes = (await read((tx) => tx.listNodes({}))).filter((node) => node.id === id || node.id === stranger);
    expect(nodes).toEqual([
      { id, name: 'host-2', home: '/b', seen_at: 2, agents: 1 },
      { id: stranger, name: null, home: null, seen_at: null, agents: 1 },
    ]);
  });

  test('adoptNode() gives agents, workspaces and waiting runs to another node and forgets the first', async () => {
    const [from, to, other] = [randomUUID(), randomUUID(), randomUUID()];
    const { agent, stays, run } = await write(async (tx) => {
      await tx.seeNode({ id: from, name: 'host', home: '/old', seen_at: 1 });
      const first = await addAgent(tx, { node_id: from });
      await tx.insertWorkspace(workspace(randomUUID(), { node_id: from, owner_id: first.id }));
      return {
        agent: first,
        stays: await addAgent(tx, { node_id: other }),
        run: await queueRun(tx, first),
      };
    });
    expect(await write((tx) => tx.adoptNode({ from, to }))).toBe(1);
    expect((await read((tx) => tx.listAgentsOn({ nodeId: to }))).map(({ id }) => id)).toEqual([agent.id]);
    expect((await read((tx) => tx.listAgentsOn({ nodeId: other }))).map(({ id }) => id)).toEqual([stays.id]);
    expect(await read((tx) => tx.listMadeWorkspaces({ nodeId: to }))).toHaveLength(1);
    expect(await read((tx) => tx.getRun({ id: run.id }))).toMatchObject({ node_id: to, state: 'created' });
    expect(await read((tx) => tx.getNode({ id: from }))).toBeNull();
  });

  test('moveDirectory() moves what is in a directory and nothing that only begins like it', async () => {
    const nodeId = randomUUID();
    const [a, b] = [randomUUID(), randomUUID()];
    await write(async (tx) => {
      await tx.insertWorkspace(workspace(a, { node_id: nodeId, path: '/old/w' }));
      await tx.insertWorkspace(workspace(b, { node_id: nodeId, path: '/old/w2' }));
      await addAgent(tx, { node_id: nodeId, workspace: '/old/w/inside', workspace_id: a });
      await tx.insertLink({
        workspace_id: b,
        target: 'x',
        source: '/old/w/docs',
        mode: 'ro',
        made_by: 'user',
        created_at: 1,
      });
      await tx.moveDirectory({ nodeId, from: '/old/w', to: '/new/place' });
    });
    const paths = await read((tx) => tx.listMadeWorkspaces({ nodeId }));
    expect(paths.map(({ path }) => path)).toEqual(['/new/place', '/old/w2']);
    expect((await read((tx) => tx.listAgentsOn({ nodeId })))[0]?.workspace).toBe('/new/place/inside');
    expect((await read((tx) => tx.listLinks({ workspaceId: b })))[0]?.source).toBe('/new/place/docs');
  });
}
