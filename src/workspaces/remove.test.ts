import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startDaemon, type TestDaemon } from '../../test/helpers/daemon.ts';
import { sweepWorkspaces } from '../daemon/workspaces.ts';
import { createWorkspace } from './create.ts';
import { deleteWorkspace } from './remove.ts';

let daemon: TestDaemon;
const OWNER = { id: 'user', agent: null };
const plain = { path: null, viewOf: null, subdir: null, mode: 'ro', network: null } as const;

beforeAll(async () => {
  daemon = await startDaemon();
});
afterAll(() => daemon.stop());

test('a directory that a crashed daemon did not remove is removed at the next start', async () => {
  const { store, workspaces } = daemon.daemon.api;
  const outside = join(daemon.directory, 'outside');
  mkdirSync(outside);
  writeFileSync(join(outside, 'file'), 'precious');
  const { path } = await daemon.client.createWorkspace({ name: 'half' });
  writeFileSync(join(path, 'work'), '');
  symlinkSync(outside, join(path, 'out'));
  await store.write((tx) => deleteWorkspace(tx, workspaces, OWNER, 'half', 1));
  expect(existsSync(path)).toBe(true);
  await sweepWorkspaces(daemon.daemon, workspaces);
  expect(existsSync(path)).toBe(false);
  expect(readFileSync(join(outside, 'file'), 'utf8')).toBe('precious');
  expect(await store.read((tx) => tx.workspaces.listDeletedWorkspaces({ nodeId: workspaces.nodeId }))).toEqual([]);
});

test('a directory that a crashed daemon did not create is created by the first turn', async () => {
  const { store, workspaces } = daemon.daemon.api;
  const wish = { ...plain, name: 'bare' };
  const { path } = await store.write((tx) => createWorkspace(tx, workspaces, OWNER, wish, 1));
  expect(existsSync(path)).toBe(false);
  const program = daemon.program('where', 'async () => process.cwd()');
  await daemon.client.createAgent({ name: 'first', program, workspace: 'bare' });
  rmSync(path, { recursive: true });
  const { messageId } = await daemon.client.sendMessage('first', { text: 'Where?' });
  expect(await daemon.client.awaitReply(messageId, 20)).toMatchObject({ kind: 'reply', text: path });
});

test("never deletes a person's directory or what another workspace uses", async () => {
  const mine = join(daemon.directory, 'mine');
  mkdirSync(mine);
  await daemon.client.createWorkspace({ name: 'mine', path: mine });
  await daemon.client.createWorkspace({ name: 'base' });
  const { path } = await daemon.client.getWorkspace('base');
  await daemon.client.linkDirectory('mine', { source: path, target: 'base' });
  await expect(daemon.client.deleteWorkspace('base')).rejects.toMatchObject({ code: 'conflict' });
  await daemon.client.deleteWorkspace('mine');
  expect(existsSync(mine)).toBe(true);
  await daemon.client.deleteWorkspace('base');
  expect(existsSync(path)).toBe(false);
});

test('does not remove the directory of an ended agent while one of its processes runs', async () => {
  await daemon.client.createWorkspace({ name: 'late' });
  const { id } = await daemon.client.createAgent({ name: 'dying', provider: 'external', workspace: 'late' });
  await daemon.client.terminateAgent('dying');
  const { workspaces } = daemon.daemon.api;
  const { isLive } = workspaces;
  Object.assign(workspaces, { isLive: (agentId: string) => agentId === id });
  const early = daemon.client.deleteWorkspace('late');
  await expect(early).rejects.toMatchObject({ code: 'conflict', message: expect.stringMatching(/still ending/) });
  Object.assign(workspaces, { isLive });
  expect(await daemon.client.deleteWorkspace('late')).toMatchObject({ status: 'deleted' });
});

test('a child can reach no host that its parent cannot reach', async () => {
  await daemon.client.createWorkspace({ name: 'narrow', network: ['a.example'] });
  await daemon.client.createWorkspace({ name: 'wide', network: ['a.example', 'b.example'] });
  await daemon.client.createAgent({ name: 'head', provider: 'external', workspace: 'narrow' });
  const child = { provider: 'external', parent: 'head' };
  await expect(daemon.client.createAgent({ ...child, name: 'one', workspace: 'wide' })).rejects.toMatchObject({
    code: 'forbidden',
    message: expect.stringMatching(/b\.example/),
  });
  const { path } = await daemon.client.getWorkspace('wide');
  const byPath = daemon.client.createAgent({ ...child, name: 'one', workspace: path });
  await expect(byPath).rejects.toMatchObject({ code: 'forbidden' });
  await daemon.client.createAgent({ ...child, name: 'two', workspace: join(daemon.directory, 'two') });
  expect(await daemon.client.getWorkspace('two')).toMatchObject({ network: ['a.example'], owner: 'two' });
});
