import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
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
  beforeAll(async () => {
    daemon = await startDaemon({ sandbox: 'bwrap' });
    marks = join(daemon.directory, 'marks');
    mkdirSync(marks);
  });
  afterAll(() => daemon.stop());

  async function makeRepository(name: string): Promise<string> {
    const path = join(daemon.directory, name);
    mkdirSync(path);
    git(path, 'init', '--quiet', '--initial-branch=main');
    writeFileSync(join(path, 'page'), 'one\n');
    writeFileSync(join(path, '.gitignore'), 'ignored\n');
    git(path, 'add', '.');
    git(path, 'commit', '--quiet', '-m', 'First');
    await daemon.client.createAgent({ name, provider: 'external', workspace: path });
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
