import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { noBwrap } from '../helpers/bwrap.ts';
import { startDaemon, type TestDaemon } from '../helpers/daemon.ts';
import { gitTraps } from '../helpers/git-traps.ts';

const git = (cwd: string, ...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=Anna', '-c', 'user.email=anna@example.com', ...args], {
    cwd,
    encoding: 'utf8',
  });

describe.skipIf(noBwrap !== null)('git on files that an agent writes', () => {
  let daemon: TestDaemon;
  let marks: string;
  let remote: string;
  beforeAll(async () => {
    remote = join(realpathSync(mkdtempSync(join(tmpdir(), 'wip-'))), 'wip.git');
    git('/', 'init', '--quiet', '--bare', remote);
    daemon = await startDaemon({ sandbox: 'bwrap', config: `[node]\nwip_remote = "${remote}"\n` });
    marks = join(daemon.directory, 'marks');
    mkdirSync(marks);
  });
  afterAll(async () => {
    await daemon.stop();
    rmSync(dirname(remote), { recursive: true });
  });

  async function makeRepository(name: string, inhabited = true): Promise<string> {
    const path = join(daemon.directory, name);
    mkdirSync(path);
    git(path, 'init', '--quiet', '--initial-branch=main');
    writeFileSync(join(path, 'page'), 'one\n');
    writeFileSync(join(path, '.gitignore'), 'ignored\n');
    git(path, 'add', '.');
    git(path, 'commit', '--quiet', '-m', 'First');
    if (inhabited) await daemon.client.createAgent({ name, provider: 'external', workspace: path });
    return path;
  }

  test('the diff has changed, new and removed files, and no ignored ones and no credentials', async () => {
    const path = await makeRepository('plain');
    writeFileSync(join(path, 'page'), 'two\n');
    for (const name of ['new', 'ignored', '.env', 'a "b']) writeFileSync(join(path, name), `${name}\n`);
    const before = git(path, 'status', '--porcelain');
    const { base, files, diff, truncated } = await daemon.client.getDiff('plain');
    expect(base).toBe(git(path, 'rev-parse', 'HEAD').trim());
    expect(files).toEqual([
      { path: 'a "b', added: 1, removed: 0 },
      { path: 'new', added: 1, removed: 0 },
      { path: 'page', added: 1, removed: 1 },
    ]);
    expect(diff).toContain('-one\n+two\n');
    expect(diff).toContain('+new\n');
    expect(diff).not.toMatch(/ignored|\.env/);
    expect(truncated).toBe(false);
    expect(git(path, 'status', '--porcelain')).toBe(before);
    expect(readdirSync(join(daemon.home, 'agents', (await daemon.client.getAgent('plain')).id)).join()).not.toMatch(
      /git-/,
    );
  });

  test('a worktree is compared with where its branch left the repository', async () => {
    const path = join(daemon.directory, 'origin');
    mkdirSync(path);
    git(path, 'init', '--quiet', '--initial-branch=main');
    writeFileSync(join(path, 'page'), 'one\n');
    git(path, 'add', '.');
    git(path, 'commit', '--quiet', '-m', 'First');
    const base = git(path, 'rev-parse', 'HEAD').trim();
    const tree = await daemon.client.createAgent({
      name: 'tree',
      provider: 'external',
      workspace: path,
      worktree: true,
    });
    writeFileSync(join(tree.workspace, 'page'), 'two\n');
    git(tree.workspace, 'commit', '--quiet', '-am', 'Second');
    writeFileSync(join(tree.workspace, 'more'), 'three\n');
    writeFileSync(join(path, 'page'), 'other\n');
    git(path, 'commit', '--quiet', '-am', 'Elsewhere');
    expect(await daemon.client.getDiff('tree')).toMatchObject({
      base,
      files: [
        { path: 'more', added: 1 },
        { path: 'page', added: 1, removed: 1 },
      ],
    });
  });

  test('a long diff is cut, a directory without git has none', async () => {
    const path = await makeRepository('long');
    writeFileSync(join(path, 'page'), `${'x'.repeat(99)}\n`.repeat(20_000));
    const { diff, truncated } = await daemon.client.getDiff('long');
    expect(truncated).toBe(true);
    expect(diff.length).toBeGreaterThan(900_000);
    expect(diff.length).toBeLessThanOrEqual(1_000_000);
    await daemon.client.createAgent({ name: 'bare', provider: 'external' });
    await expect(daemon.client.getDiff('bare')).rejects.toMatchObject({ code: 'conflict' });
  });

  const SHELL = `async ({ messages }) => {
    const { execFileSync } = await import('node:child_process');
    return execFileSync('/bin/sh', ['-c', messages[0].text], { encoding: 'utf8' }) || 'done';
  }`;
  const tell = async (agent: string, text: string) => {
    const { messageId } = await daemon.client.sendMessage(agent, { text });
    return (await daemon.client.awaitReply(messageId, 20))?.text ?? '';
  };

  test.each(Object.entries(gitTraps))('%s of an agent is not executed when its work is pushed', async (name, trap) => {
    const handle = `pushed-${name.replaceAll(' ', '-').toLowerCase()}`;
    const path = await makeRepository(`${handle}-source`, false);
    const program = daemon.program('shell', SHELL);
    const made = await daemon.client.createAgent({ name: handle, program, clone: path });
    const mark = join(marks, handle);
    trap.set(made.workspace, `touch ${mark}`);
    writeFileSync(join(made.workspace, 'more'), 'two\n');
    await tell(handle, 'echo three > third');
    const { work } = await daemon.client.getAgent(handle);
    // A trap may make git fail in the sandbox; most do not, and then the push has happened.
    expect([name, work?.problem ?? null]).toEqual([name, trap.stops ? expect.any(String) : null]);
    const ref = `refs/substrat/wip/${made.id}`;
    if (!trap.stops) expect(git(remote, 'ls-tree', '--name-only', ref)).toContain('more\npage\nthird\n');
    expect(existsSync(mark)).toBe(false);
    expect(readdirSync(marks)).not.toContain(handle);
  });

  test('a remote that agents can write to is not used', async () => {
    const path = await makeRepository('safe-source', false);
    const program = daemon.program('shell', SHELL);
    await daemon.client.createAgent({ name: 'safe', program, clone: path });
    const mark = join(marks, 'remote');
    const hook = join(remote, 'hooks/update');
    mkdirSync(join(remote, 'hooks'), { recursive: true });
    writeFileSync(hook, `#!/bin/sh\ntouch ${mark}\n`);
    chmodSync(hook, 0o755);
    await daemon.client.createAgent({ name: 'intruder', provider: 'external', workspace: remote });
    expect(await tell('safe', 'echo two > page')).toBe('done');
    const message = `Agents can write to ${remote}, so git is not run there.`;
    const { work, portability } = await daemon.client.getAgent('safe');
    expect({ work, portability }).toMatchObject({ work: { saved: false }, portability: 'not_yet' });
    expect(work?.problem).toContain(message);
    const again = daemon.client.createAgent({ name: 'second', program, clone: path });
    await expect(again).rejects.toMatchObject({ message: expect.stringContaining(message) });
    await daemon.client.terminateAgent('intruder');
    await daemon.client.deleteWorkspace('intruder');
    const where = await makeRepository('shown');
    const cloned = daemon.client.createAgent({ name: 'third', program, clone: `file://${where}` });
    await expect(cloned).rejects.toMatchObject({ message: expect.stringContaining(`Agents can write to ${where}`) });
    expect(existsSync(mark)).toBe(false);
    await tell('safe', 'echo three > page');
    expect((await daemon.client.getAgent('safe')).work).toMatchObject({ saved: true, problem: null });
    // The hook is a real one.
    expect(existsSync(mark)).toBe(true);
  });

  test.each(Object.entries(gitTraps))('%s of an agent is not executed outside of the sandbox', async (name, trap) => {
    const handle = name.replaceAll(' ', '-').toLowerCase();
    const path = await makeRepository(handle);
    const [control, mark] = [join(marks, `${handle}-control`), join(marks, handle)];
    trap.set(path, `touch ${mark}`);
    await daemon.client.getDiff(handle).catch(() => null);
    expect(existsSync(mark)).toBe(false);
    // The trap is a real one: git itself walks into it.
    if (trap.fires.length === 0) return;
    const copy = join(daemon.directory, `${handle}-copy`);
    git(daemon.directory, 'clone', '--quiet', '--no-local', path, copy);
    trap.set(copy, `touch ${control}`);
    spawnSync('git', trap.fires, { cwd: copy, input: 'protocol=https\nhost=x\n\n', timeout: 10_000 });
    expect(existsSync(control)).toBe(true);
  });
});
