import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startDaemon, storeRows, type TestDaemon } from '../../test/helpers/daemon.ts';
import { type ConnectedAgent, connectAgent } from '../../test/helpers/mcp.ts';
import type { Agent } from '../core/agent.ts';

import { reachOf } from '../workspaces/reach.ts';

let daemon: TestDaemon;
let lead: ConnectedAgent;
let worker: ConnectedAgent;
let boxed: ConnectedAgent;
let own: string;
let root: string;
let person: string;
let before: string | undefined;

beforeAll(async () => {
  // A fake home of the person, so that no real keys are touched.
  person = mkdtempSync(join(tmpdir(), 'person-'));
  mkdirSync(join(person, '.ssh'));
  before = process.env.HOME;
  process.env.HOME = person;
  root = mkdtempSync(join(tmpdir(), 'root-'));
  mkdirSync(join(root, 'docs/api'), { recursive: true });
  writeFileSync(join(root, 'file'), '');
  symlinkSync('/etc', join(root, 'etc'));
  symlinkSync(join(root, 'docs'), join(root, 'alias'));
  daemon = await startDaemon({
    config: `[limits]\ntool_calls_per_minute = 100000\nmax_workspaces = 6\nmax_links = 3\n`,
    roots: [root, person],
    members: { lead: {}, other: {}, worker: { parent: 'lead' } },
  });
  enforce(daemon);
  const { workspace } = daemon.agent('lead');
  own = workspace;
  mkdirSync(join(own, 'part/inner'), { recursive: true });
  mkdirSync(join(own, 'secret'));
  symlinkSync('/etc', join(own, 'out'));
  const wish = { name: 'boxed', parent: 'lead', provider: 'external', workspace: join(own, 'part') };
  const { id } = await daemon.client.createAgent(wish);
  const connect = (agentId: string) => connectAgent({ home: daemon.home, agentId });
  [lead, worker, boxed] = [
    await connect(daemon.agent('lead').id),
    await connect(daemon.agent('worker').id),
    await connect(id),
  ];
});

afterAll(async () => {
  for (const agent of [lead, worker, boxed]) await agent.close();
  await daemon.stop();
  process.env.HOME = before;
  for (const directory of [root, person]) rmSync(directory, { recursive: true });
});

/** Pretends that a sandbox enforces links; `reachOf` returns what would be mounted. */
function enforce({ daemon: { api } }: TestDaemon): void {
  Object.assign(api.workspaces, { inForce: true });
}

const reach = (agentId: string) =>
  daemon.daemon.store.read(async (tx) =>
    reachOf(tx, daemon.daemon.api.workspaces, (await tx.agents.getAgent({ id: agentId })) as Agent),
  );
const code = async (call: Promise<{ value: { error?: { code: string } } }>) => (await call).value.error?.code;
const link = (change: Record<string, unknown>, agent = lead) =>
  agent.call('link_dir', { workspace: 'lead', source: join(root, 'docs'), target: 'docs', ...change });

/** Expects a refusal without any effect. */
async function refused(call: () => Promise<{ value: { error?: { code: string } } }>, expected: string): Promise<void> {
  const state = async () => {
    const { workspaces, links } = await storeRows(daemon.home);
    return [workspaces, links, readdirSync(own).sort()];
  };
  const kept = await state();
  expect(await code(call())).toBe(expected);
  expect(await state()).toEqual(kept);
}

describe('an agent without a workspace', () => {
  test('gets its own workspace with its name; a child shares it and does not own it', async () => {
    expect(await daemon.client.getWorkspace('lead')).toMatchObject({ owner: 'lead', path: own, mode: 'rw', links: [] });
    const list = async (agent: ConnectedAgent) => (await agent.call('list_workspaces')).value.workspaces;
    expect(await list(lead)).toEqual([{ name: 'lead', owner: 'lead', mutable: true }]);
    expect(await list(worker)).toEqual([{ name: 'lead', owner: 'lead', mutable: false }]);
    expect((await daemon.client.getWorkspace('lead')).agents).toEqual(['lead', 'worker', 'boxed']);
    await refused(() => link({}, worker), 'forbidden');
    await refused(() => worker.call('delete_workspace', { name: 'lead' }), 'forbidden');
    await refused(() => link({ workspace: 'other' }), 'not_found');
  });
});

describe('link_dir', () => {
  const home = () => homedir();
  test.each<[string, () => string, string]>([
    ['the keys of the person', () => join(home(), '.ssh'), 'forbidden'],
    ['what is above the keys', home, 'forbidden'],
    ['the machine', () => '/', 'forbidden'],
    ['/etc', () => '/etc', 'forbidden'],
    ['what does not exist outside', () => '/etc/nothing-here', 'forbidden'],
    ['the home of Substrat', () => daemon.home, 'forbidden'],
    ['the directory of an agent', () => join(daemon.home, 'agents'), 'forbidden'],
    ['all workspaces', () => join(daemon.home, 'workspaces'), 'forbidden'],
    ["another's workspace", () => daemon.agent('other').workspace, 'forbidden'],
    ['above a root', () => join(root, '..'), 'forbidden'],
    ['out of a root', () => `${root}/docs/../../..`, 'forbidden'],
    ['out of the workspace', () => '../..', 'forbidden'],
    ['through a link in a root', () => join(root, 'etc'), 'forbidden'],
    ['through a harmless link', () => join(root, 'alias/api'), 'forbidden'],
    ['through a link in the workspace', () => 'out', 'forbidden'],
    ['below a link in the workspace', () => 'out/ssh', 'forbidden'],
    ['a file', () => join(root, 'file'), 'bad_request'],
    ['nothing', () => join(root, 'nothing'), 'not_found'],
    ['a path of 10,000 characters', () => `${root}/${'x'.repeat(10_000)}`, 'bad_request'],
    ['a long name', () => `${root}/${'x'.repeat(300)}`, 'bad_request'],
    ['NUL', () => `${root}\0/docs`, 'bad_request'],
  ])('from %s is refused', async (_, source, expected) => {
    await refused(() => link({ source: source() }), expected);
  });

  test.each([
    ['..', 'bad_request'],
    ['a/../../b', 'bad_request'],
    ['a/..', 'bad_request'],
    ['.', 'bad_request'],
    ['./', 'bad_request'],
    ['/etc', 'bad_request'],
    ['a\0b', 'bad_request'],
    ['', 'bad_request'],
    ['out', 'forbidden'],
    ['out/in', 'forbidden'],
    ['x'.repeat(300), 'bad_request'],
  ])('to %j is refused', async (target, expected) => {
    await refused(() => link({ target }), expected);
  });

  test('read-write needs read-write access: not for a root, but for its own directory', async () => {
    await refused(() => link({ mode: 'rw' }), 'forbidden');
    expect((await link({ source: 'secret', target: 'mine', mode: 'rw' })).value).toEqual({ status: 'linked' });
    await refused(() => link({ source: 'secret', target: 'secret/inner' }), 'bad_request');
    await refused(() => link({ target: 'mine' }), 'conflict');
    await refused(() => link({ target: 'mine/inner' }), 'conflict');
    expect((await lead.call('unlink_dir', { workspace: 'lead', target: 'mine/' })).value).toEqual({
      status: 'unlinked',
    });
    await refused(() => lead.call('unlink_dir', { workspace: 'lead', target: 'mine' }), 'not_found');
    expect(existsSync(join(own, 'secret'))).toBe(true);
  });

  test('shows a root to the agent and to those who share its workspace, in their part of it', async () => {
    await link({ target: 'part/docs' });
    const bind = { source: join(root, 'docs'), target: join(own, 'part/docs'), mode: 'ro' };
    const { id } = await daemon.client.getAgent('boxed');
    expect((await reach(daemon.agent('lead').id)).binds).toEqual([bind]);
    expect((await reach(id)).binds).toEqual([bind]);
    expect(existsSync(join(own, 'part/docs'))).toBe(true);

    const { value } = await lead.call('spawn_agent', {
      name: 'reader',
      instructions: 'x',
      workspace_subdir: 'part/docs/api',
    });
    expect((await reach(value.agent_id as string)).binds).toEqual([
      { source: join(root, 'docs/api'), target: join(own, 'part/docs/api'), mode: 'ro' },
    ]);
    await daemon.client.terminateAgent('reader');
    rmSync(join(own, 'part/docs'), { recursive: true });

    symlinkSync('/etc', join(own, 'part/docs'));
    await expect(reach(id)).rejects.toThrow(/is a symbolic link/);
    rmSync(join(own, 'part/docs'));
    await lead.call('unlink_dir', { workspace: 'lead', target: 'part/docs' });
  });

  test('is checked before every run: the agent does not run if a source became a symlink or is no longer a root', async () => {
    mkdirSync(join(own, 'later'));
    await link({ source: 'later', target: 'shown' });
    await reach(daemon.agent('worker').id);
    renameSync(join(own, 'later'), join(own, 'moved'));
    symlinkSync(join(person, '.ssh'), join(own, 'later'));
    await expect(reach(daemon.agent('worker').id)).rejects.toThrow(/is a symbolic link/);
    await lead.call('unlink_dir', { workspace: 'lead', target: 'shown' });

    await link({});
    const { workspaces } = daemon.daemon.api;
    const { roots } = workspaces;
    Object.assign(workspaces, { roots: [] });
    await expect(reach(daemon.agent('worker').id)).rejects.toThrow(/The link docs is no longer valid/);
    Object.assign(workspaces, { roots });
    expect((await reach(daemon.agent('worker').id)).binds).toHaveLength(1);
    await lead.call('unlink_dir', { workspace: 'lead', target: 'docs' });
  });

  test('keys can only be linked if they are a root themselves', async () => {
    const { workspaces } = daemon.daemon.api;
    const { roots } = workspaces;
    Object.assign(workspaces, { roots: [join(person, '.ssh')] });
    expect((await link({ source: join(person, '.ssh'), target: 'keys' })).value).toEqual({ status: 'linked' });
    await lead.call('unlink_dir', { workspace: 'lead', target: 'keys' });
    Object.assign(workspaces, { roots });
  });

  test('has a limit', async () => {
    for (const target of ['c1', 'c2', 'c3']) await link({ target });
    await refused(() => link({ target: 'c4' }), 'cap_reached');
    for (const target of ['c1', 'c2', 'c3']) await lead.call('unlink_dir', { workspace: 'lead', target });
  });

  test('reports that no sandbox enforces it', async () => {
    Object.assign(daemon.daemon.api.workspaces, { inForce: false });
    await refused(() => link({}), 'unsupported');
    expect(await reach(daemon.agent('lead').id)).toEqual({ binds: [], hosts: [], source: own });
    enforce(daemon);
  });
});

describe('create_workspace', () => {
  const create = (args: Record<string, unknown>, agent = lead) => agent.call('create_workspace', args);
  const drop = (name: string, agent = lead) => agent.call('delete_workspace', { name });

  test.each(['', 'a/b', '../x', '.', 'a b', 'user', 'x'.repeat(65), 'x'.repeat(10_000), 'a\0b', 'ä'])(
    'refuses the name %j',
    async (name) => refused(() => create({ name }), 'bad_request'),
  );

  test('creates a directory that can be linked and, if unused, deleted with its contents', async () => {
    expect((await create({ name: 'scratch' })).value).toEqual({ status: 'created', name: 'scratch' });
    const { path } = await daemon.client.getWorkspace('scratch');
    writeFileSync(join(path, 'work'), '');
    await refused(() => create({ name: 'Scratch' }), 'name_taken');
    await link({ source: path, target: 'scratch', mode: 'rw' });
    await refused(() => drop('scratch'), 'conflict');
    await lead.call('unlink_dir', { workspace: 'lead', target: 'scratch' });
    await refused(() => drop('scratch', worker), 'not_found');
    expect((await drop('scratch')).value).toEqual({ status: 'deleted' });
    expect(existsSync(path)).toBe(false);
    await refused(() => drop('scratch'), 'not_found');
    await refused(() => drop('lead'), 'conflict');
  });

  test('gives a name to only one of two concurrent calls', async () => {
    const made = await Promise.all([create({ name: 'race' }), create({ name: 'RACE' }, worker)]);
    expect(made.map(({ value }) => value.error?.code ?? value.status).sort()).toEqual(['created', 'name_taken']);
    const winner = made[0]?.isError ? worker : lead;
    await drop('race', winner);
  });

  test('shows a part of a workspace, never more or wider than its creator has', async () => {
    await refused(() => create({ name: 'v', view_of: 'other' }), 'not_found');
    await refused(() => create({ name: 'v', subdir: 'part' }), 'bad_request');
    for (const subdir of ['..', '/etc', '../x', 'part/../..', 'a\0']) {
      await refused(() => create({ name: 'v', view_of: 'lead', subdir }), 'forbidden');
    }
    await refused(() => create({ name: 'v', view_of: 'lead', subdir: 'out' }), 'forbidden');
    await refused(() => create({ name: 'v', view_of: 'lead', subdir: 'nothing' }), 'not_found');
    await refused(() => create({ name: 'v', view_of: 'lead' }, boxed), 'forbidden');
    await refused(() => create({ name: 'v', view_of: 'lead', subdir: 'secret' }, boxed), 'forbidden');
    expect((await create({ name: 'inner', view_of: 'lead', subdir: 'part/inner' }, boxed)).isError).toBe(false);
    await drop('inner', boxed);
    await create({ name: 'box' }, boxed);
    const beyond = (source: string) => link({ workspace: 'box', source, target: 'x' }, boxed);
    for (const source of ['..', '../secret', own, join(own, 'secret')])
      await refused(() => beyond(source), 'forbidden');
    expect((await beyond('inner')).value).toEqual({ status: 'linked' });
    await drop('box', boxed);

    await create({ name: 'look', view_of: 'lead', subdir: 'part' });
    await refused(() => create({ name: 'wide', view_of: 'look', mode: 'rw' }), 'forbidden');
    await refused(() => link({ source: 'part', target: 'p', mode: 'rw', workspace: 'look' }), 'bad_request');
    await create({ name: 'closer', view_of: 'look', subdir: 'inner' });
    expect(await daemon.client.getWorkspace('closer')).toMatchObject({
      path: join(own, 'part/inner'),
      viewOf: 'look',
      subdir: 'inner',
      mode: 'ro',
    });
    await refused(() => drop('look'), 'conflict');

    await daemon.client.linkDirectory('lead', { source: person, target: 'part/inner/data', mode: 'rw' });
    const { id } = await daemon.client.createAgent({ name: 'reader', provider: 'external', workspace: 'closer' });
    expect((await reach(id)).binds).toEqual([
      { source: join(own, 'part/inner'), target: join(own, 'part/inner'), mode: 'ro' },
      { source: person, target: join(own, 'part/inner/data'), mode: 'ro' },
    ]);
    await refused(() => drop('closer'), 'conflict');
    await daemon.client.terminateAgent('reader');
    await daemon.client.unlinkDirectory('lead', 'part/inner/data');
    for (const name of ['closer', 'look']) expect((await drop(name)).value).toEqual({ status: 'deleted' });
    expect(existsSync(join(own, 'part/inner'))).toBe(true);
  });

  test('has a limit', async () => {
    for (const n of [1, 2, 3, 4, 5]) expect((await create({ name: `cap-${n}` })).isError).toBe(false);
    await refused(() => create({ name: 'cap-6' }), 'cap_reached');
    for (const n of [1, 2, 3, 4, 5]) await drop(`cap-${n}`);
  });
});
