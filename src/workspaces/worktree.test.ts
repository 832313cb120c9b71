import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { noBwrap } from '../../test/helpers/bwrap.ts';
import { startDaemon, type TestDaemon } from '../../test/helpers/daemon.ts';
import { gitTraps } from '../../test/helpers/git-traps.ts';
import { until } from '../../test/helpers/until.ts';
import { unclaimed } from './workplace.ts';
import { addWorktree, repositoryBinds } from './worktree.ts';

let daemon: TestDaemon;
let directory: string;
let repository: string;

const git = (cwd: string, ...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=Anna', '-c', 'user.email=anna@example.com', ...args], {
    cwd,
    encoding: 'utf8',
  });

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'repository-'));
  repository = join(directory, 'site');
  mkdirSync(repository);
  git(repository, 'init', '--quiet', '--initial-branch=main');
  writeFileSync(join(repository, 'page'), 'one\n');
  git(repository, 'add', '.');
  git(repository, 'commit', '--quiet', '-m', 'First');
  daemon = await startDaemon({ sandbox: 'bwrap' });
});

afterEach(async () => {
  await daemon.stop();
  rmSync(directory, { recursive: true });
});

const create = (name: string, workspace = repository) =>
  daemon.client.createAgent({ name, provider: 'external', workspace, worktree: true });
const branches = () => git(repository, 'branch', '--format=%(refname:short)').trim().split('\n');
const notices = async () => (await daemon.client.listInbox()).items.map(({ text }) => text);

describe.skipIf(noBwrap !== null)('agent create --worktree', () => {
  test('creates a worktree on its own branch for the agent', async () => {
    const hook = join(repository, '.git/hooks/post-checkout');
    writeFileSync(hook, `#!/bin/sh\ntouch ${directory}/hooked\n`);
    chmodSync(hook, 0o755);
    const agent = await create('mason');
    expect(readFileSync(join(agent.workspace, 'page'), 'utf8')).toBe('one\n');
    expect(git(agent.workspace, 'branch', '--show-current')).toBe('substrat/mason\n');
    expect(await daemon.client.getWorkspace('mason')).toMatchObject({
      owner: 'mason',
      repository: join(repository, '.git'),
      agents: ['mason'],
    });
    expect(existsSync(join(directory, 'hooked'))).toBe(false);
  });

  test('is removed with the agent if nothing is uncommitted; commits stay on the branch', async () => {
    const { workspace } = await create('mason');
    writeFileSync(join(workspace, 'page'), 'two\n');
    git(workspace, 'commit', '--quiet', '-am', 'Second');
    await daemon.client.terminateAgent('mason');
    await until('it is gone', () => !existsSync(workspace));
    await until('it is forgotten', async () => (await daemon.client.listWorkspaces()).items.length === 0);
    expect(git(repository, 'log', '-1', '--format=%s', 'substrat/mason')).toBe('Second\n');
    await until('it is not listed', () => git(repository, 'worktree', 'list').trim().split('\n').length === 1);
  });

  test.each([
    ['new', (at: string) => writeFileSync(join(at, 'draft'), '')],
    ['changed', (at: string) => writeFileSync(join(at, 'page'), 'two\n')],
    ['staged', (at: string) => git(at, 'rm', '--quiet', 'page')],
  ])('is kept while a file in it is %s, and the person is notified', async (_, work) => {
    const { workspace } = await create('mason');
    work(workspace);
    await daemon.client.terminateAgent('mason');
    const [told] = await until('a notice', async () => ((await notices()).length > 0 ? notices() : null));
    expect(told).toMatch(/mason was terminated. The worktree .* was kept because it has uncommitted changes: \w+/);
    await expect(daemon.client.deleteWorkspace('mason')).rejects.toMatchObject({ code: 'conflict' });
    expect(existsSync(workspace)).toBe(true);
    git(workspace, 'add', '-A');
    git(workspace, 'commit', '--quiet', '-m', 'Kept');
    await daemon.client.deleteWorkspace('mason');
    expect(existsSync(workspace)).toBe(false);
    expect(git(repository, 'log', '-1', '--format=%s', 'substrat/mason')).toBe('Kept\n');
  });

  test.each(Object.entries(gitTraps))('%s of the agent is not executed when it is removed', async (_, trap) => {
    const { workspace } = await create('mallory');
    const mark = join(directory, 'executed');
    // The agent's own repository takes the place of the worktree's `.git` file.
    rmSync(join(workspace, '.git'));
    git(workspace, 'init', '--quiet', '--initial-branch=main');
    git(workspace, 'add', '.');
    git(workspace, 'commit', '--quiet', '-m', 'Evil');
    trap.set(workspace, `touch ${mark}`);
    await daemon.client.terminateAgent('mallory');
    await until('it was looked at', async () => (await notices()).length > 0 || !existsSync(workspace));
    await daemon.client.deleteWorkspace('mallory').catch(() => null);
    expect(existsSync(mark)).toBe(false);
  });

  test("a filter of the person is not executed on the agent's files", async () => {
    const mark = join(directory, 'executed');
    git(repository, 'config', 'filter.x.clean', `touch ${mark}; cat`);
    const { workspace } = await create('mallory');
    writeFileSync(join(workspace, '.gitattributes'), '* filter=x\n');
    writeFileSync(join(workspace, 'page'), 'two\n');
    await daemon.client.terminateAgent('mallory');
    await until('a notice', async () => (await notices()).length > 0);
    await expect(daemon.client.deleteWorkspace('mallory')).rejects.toMatchObject({ code: 'conflict' });
    expect(existsSync(mark)).toBe(false);
    // The trap is a real one.
    git(workspace, 'status', '--short');
    expect(existsSync(mark)).toBe(true);
  });

  test('a link in it is removed, and what it points to stays', async () => {
    const { workspace } = await create('mason');
    symlinkSync(repository, join(workspace, 'out'));
    writeFileSync(join(workspace, '.gitignore'), '*\n');
    git(workspace, 'add', '--force', '.gitignore');
    git(workspace, 'commit', '--quiet', '-m', 'Ignore');
    await daemon.client.terminateAgent('mason');
    await until('it is gone', () => !existsSync(workspace));
    expect(readFileSync(join(repository, 'page'), 'utf8')).toBe('one\n');
  });

  test('is refused without a repository, without a commit, or where agents can write', async () => {
    const plain = join(directory, 'plain');
    mkdirSync(plain);
    await expect(create('a', plain)).rejects.toMatchObject({ code: 'bad_request' });
    await expect(create('a', join(directory, 'nothing'))).rejects.toMatchObject({ code: 'bad_request' });
    git(plain, 'init', '--quiet');
    await expect(create('a', plain)).rejects.toMatchObject({ code: 'bad_request' });
    await daemon.client.createAgent({ name: 'resident', provider: 'external', workspace: repository });
    await expect(create('a')).rejects.toMatchObject({ code: 'conflict', message: expect.stringMatching(/can write/) });
    expect((await daemon.client.listWorkspaces()).items.map(({ name }) => name)).toEqual(['resident']);
    expect(branches()).toEqual(['main']);
  });

  test('leaves nothing behind if the agent cannot be created or already exists', async () => {
    await create('mason');
    await expect(create('Mason')).rejects.toMatchObject({ code: 'name_taken' });
    const wish = { name: 'twice', provider: 'external', workspace: repository, worktree: true };
    const [first, second] = [
      await daemon.client.createAgent(wish, { idempotencyKey: 'k' }),
      await daemon.client.createAgent(wish, { idempotencyKey: 'k' }),
    ];
    expect(second.id).toBe(first.id);
    expect(branches()).toEqual(['main', 'substrat/mason', 'substrat/twice']);
    expect(git(repository, 'worktree', 'list').trim().split('\n')).toHaveLength(3);
    expect((await daemon.client.listWorkspaces()).items.map(({ name }) => name)).toEqual(['mason', 'twice']);
  });

  test('an existing branch is not changed', async () => {
    git(repository, 'branch', 'substrat/mason');
    const { workspace } = await create('mason');
    expect(git(workspace, 'branch', '--show-current')).toBe('substrat/mason-2\n');
  });
});

test.skipIf(noBwrap !== null)(
  'a worktree whose daemon died before its agent existed is removed at the next start',
  async () => {
    const { store, home, api } = daemon.daemon;
    const { workspaces } = api;
    const row = unclaimed(workspaces, 'f0000000-0000-7000-8000-000000000000', 1, {
      repository: join(repository, '.git'),
    });
    await store.write((tx) => tx.workspaces.insertWorkspace(row));
    await addWorktree(row, 'ghost');
    expect(existsSync(row.path)).toBe(true);
    const { sweepWorkspaces } = await import('../daemon/workspaces.ts');
    await sweepWorkspaces(daemon.daemon, workspaces);
    expect(existsSync(row.path)).toBe(false);
    expect(await store.read((tx) => tx.workspaces.listDeletedWorkspaces({ nodeId: home.nodeId }))).toEqual([]);
  },
);

test("the repository's settings and hooks, and the paths to them, are read-only in the sandbox", () => {
  const binds = repositoryBinds({ id: 'w', path: '/w', repository: '/repo/.git' });
  const modeOf = (path: string) =>
    binds.filter(({ target }) => path === target || path.startsWith(`${target}/`)).at(-1)?.mode;
  for (const path of [
    'config',
    'hooks/post-commit',
    'HEAD',
    'refs/heads/main',
    'packed-refs',
    'worktrees/other/HEAD',
  ]) {
    expect([path, modeOf(`/repo/.git/${path}`)]).toEqual([path, 'ro']);
  }
  for (const file of ['commondir', 'gitdir', 'config.worktree'])
    expect(modeOf(`/repo/.git/worktrees/w/${file}`)).toBe('ro');
  for (const path of ['objects/ab/cd', 'refs/heads/substrat/x', 'worktrees/w/index']) {
    expect([path, modeOf(`/repo/.git/${path}`)]).toEqual([path, 'rw']);
  }
  expect(repositoryBinds({ id: 'w', path: '/w', repository: null })).toEqual([]);
});

test('a worktree is kept where git cannot run in a sandbox, and the person is told how to remove it', async () => {
  await daemon.stop();
  daemon = await startDaemon({ sandbox: 'none' });
  const { workspace } = await create('mason');
  await daemon.client.terminateAgent('mason');
  const [told] = await until('a notice', async () => ((await notices()).length > 0 ? notices() : null));
  expect(told).toContain(`was kept because it is not known whether it has uncommitted changes: This needs a sandbox`);
  expect(told).toContain(`run \`git worktree remove ${workspace}\``);
  git(repository, 'worktree', 'remove', workspace);
  await daemon.client.deleteWorkspace('mason');
  expect((await daemon.client.listWorkspaces()).items).toEqual([]);
});
