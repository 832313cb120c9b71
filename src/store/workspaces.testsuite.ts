import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { Workspace } from '../core/workspace.ts';
import { addAgent, type StoreKit } from './store.testkit.ts';
import type { Tx } from './store.ts';

export function testWorkspaces({ read, write }: StoreKit): void {
  const add = async (tx: Tx, change: Partial<Workspace> = {}): Promise<Workspace> => {
    const id = randomUUID();
    const row: Workspace = {
      id,
      name: `W-${id}`,
      nameKey: `w-${id}`,
      ownerId: 'user',
      path: `/w/${id}`,
      made: true,
      nodeId: `node-${id}`,
      viewOf: null,
      mode: 'rw',
      network: null,
      repository: null,
      createdAt: 1,
      deletedAt: null,
      ...change,
    };
    await tx.workspaces.insertWorkspace(row);
    return row;
  };

  test('a workspace is found by id, by name and by its directory; a view has no directory of its own', async () => {
    const { base, view, agent } = await write(async (tx) => {
      const owner = await addAgent(tx);
      const first = await add(tx);
      const change = { ownerId: owner.id, viewOf: first.id, path: first.path, nodeId: first.nodeId };
      return { agent: owner, base: first, view: await add(tx, { ...change, mode: 'ro' }) };
    });
    expect(await read((tx) => tx.workspaces.getWorkspace({ id: base.id }))).toEqual({ ...base, owner: 'user' });
    const nameKey = view.nameKey as string;
    expect(await read((tx) => tx.workspaces.getWorkspaceNamed({ nameKey }))).toEqual({ ...view, owner: agent.handle });
    const at = { nodeId: base.nodeId, path: base.path };
    expect(await read((tx) => tx.workspaces.getWorkspaceAt(at))).toEqual(base);
    expect(await read((tx) => tx.workspaces.getWorkspaceAt({ ...at, nodeId: 'another' }))).toBeNull();
    expect(await read((tx) => tx.workspaces.listViewsOf({ id: base.id }))).toEqual([view]);
    expect(await read((tx) => tx.workspaces.listWorkspacesOf({ ownerId: agent.id }))).toMatchObject([{ id: view.id }]);
    expect(await read((tx) => tx.workspaces.listWorkspacePaths({ nodeId: base.nodeId }))).toHaveLength(2);
    expect(await read((tx) => tx.workspaces.getWorkspace({ id: 'none' }))).toBeNull();
  });

  test('names are unique, and workspaces are listed in pages by name', async () => {
    const rows = await write(async (tx) => [await add(tx), await add(tx)]);
    const keys = rows.map(({ nameKey }) => nameKey as string).sort();
    await expect(write((tx) => add(tx, { nameKey: keys[0] as string }))).rejects.toThrow(/unique/i);
    const after = async (name: string, limit: number) =>
      (await read((tx) => tx.workspaces.listWorkspaces({ after: name, limit }))).map(({ nameKey }) => nameKey);
    expect(await after('', 10_000)).toEqual(expect.arrayContaining(keys));
    expect((await after(keys[0] as string, 10_000)).includes(keys[0] as string)).toBe(false);
    expect(await after(keys[0] as string, 1)).toHaveLength(1);
  });

  test('links belong to a workspace, with unique targets', async () => {
    const { id, nodeId, name } = await write((tx) => add(tx));
    const link = { workspaceId: id, source: '/data', mode: 'ro', madeBy: 'user', createdAt: 1 } as const;
    await write(async (tx) => {
      await tx.workspaces.insertLink({ ...link, target: 'b' });
      await tx.workspaces.insertLink({ ...link, target: 'a' });
    });
    await expect(write((tx) => tx.workspaces.insertLink({ ...link, target: 'a' }))).rejects.toThrow(/unique/i);
    const targets = async () =>
      (await read((tx) => tx.workspaces.listLinks({ workspaceId: id }))).map(({ target }) => target);
    expect(await targets()).toEqual(['a', 'b']);
    const onNode = await read((tx) => tx.workspaces.listLinksOn({ nodeId }));
    expect(onNode.map(({ workspace, source }) => [workspace, source])).toEqual([
      [name, '/data'],
      [name, '/data'],
    ]);
    expect(await write((tx) => tx.workspaces.tryDeleteLink({ workspaceId: id, target: 'a' }))).toBe(true);
    expect(await write((tx) => tx.workspaces.tryDeleteLink({ workspaceId: id, target: 'a' }))).toBe(false);
    expect(await targets()).toEqual(['b']);
  });

  test('a deleted workspace is invisible, its name is free, and its row stays until its directory is gone', async () => {
    const { row, agent } = await write(async (tx) => {
      const made = await add(tx);
      await tx.workspaces.insertLink({
        workspaceId: made.id,
        target: 't',
        source: '/s',
        mode: 'rw',
        madeBy: 'user',
        createdAt: 1,
      });
      return { row: made, agent: await addAgent(tx, { workspaceId: made.id, terminatedAt: 5 }) };
    });
    const [id, nodeId, nameKey] = [row.id, row.nodeId, row.nameKey as string];
    await write((tx) => tx.workspaces.deleteWorkspace({ id, at: 9 }));
    await expect(write((tx) => tx.workspaces.deleteWorkspace({ id: 'none', at: 9 }))).rejects.toMatchObject({
      code: 'not_found',
    });
    expect(await read((tx) => tx.workspaces.getWorkspace({ id }))).toBeNull();
    expect(await read((tx) => tx.workspaces.listLinks({ workspaceId: id }))).toEqual([]);
    expect(await read((tx) => tx.workspaces.listDeletedWorkspaces({ nodeId }))).toMatchObject([{ id, deletedAt: 9 }]);

    await write((tx) => tx.workspaces.reviveWorkspace({ id, ownerId: agent.id, name: 'Again', nameKey }));
    await write((tx) => tx.workspaces.moveWorkspace({ id, nodeId: 'elsewhere' }));
    expect(await read((tx) => tx.workspaces.getWorkspace({ id }))).toMatchObject({ nodeId: 'elsewhere' });
    await write((tx) => tx.workspaces.moveWorkspace({ id, nodeId }));
    expect(await read((tx) => tx.workspaces.getWorkspaceNamed({ nameKey }))).toMatchObject({ id, owner: agent.handle });
    const nobody = write((tx) =>
      tx.workspaces.reviveWorkspace({ id: 'none', ownerId: agent.id, name: 'x', nameKey: 'x' }),
    );
    await expect(nobody).rejects.toMatchObject({ code: 'not_found' });

    await write((tx) => tx.workspaces.deleteWorkspace({ id, at: 9 }));
    await write((tx) => tx.workspaces.tryRemoveWorkspace({ id }));
    expect(await read((tx) => tx.workspaces.listDeletedWorkspaces({ nodeId }))).toEqual([]);
    expect(await read((tx) => tx.agents.getAgent({ id: agent.id }))).toMatchObject({ workspaceId: null });
  });

  test('the agents that work in it are listed, living and terminated', async () => {
    const { workspaceId, living, ended } = await write(async (tx) => {
      const { id } = await add(tx);
      const first = await addAgent(tx, { workspaceId: id });
      return { workspaceId: id, living: first, ended: await addAgent(tx, { workspaceId: id, terminatedAt: 5 }) };
    });
    expect(await read((tx) => tx.workspaces.listInhabitants({ workspaceId }))).toEqual([
      { id: living.id, handle: living.handle, terminatedAt: null },
      { id: ended.id, handle: ended.handle, terminatedAt: 5 },
    ]);
  });
}
