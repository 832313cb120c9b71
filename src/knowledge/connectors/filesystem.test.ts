import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Connector } from '../connector.ts';
import { type FilesystemOptions, filesystemConnector } from './filesystem.ts';

let root: string;
let unlisted: string[];

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'substrat-files-'));
  unlisted = [];
});
afterEach(() => rmSync(root, { recursive: true }));

function put(...paths: string[]): void {
  for (const path of paths) putText(path, path);
}

function putText(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

function open(change: Partial<FilesystemOptions> = {}): Connector {
  const rest = { include: ['**'], exclude: [], tags: [], maxBytes: 1000, gitignore: true, followSymlinks: false };
  return filesystemConnector({ source: 'filesystem:test', root, ...rest, ...change });
}

async function list(connector: Connector): Promise<string[]> {
  const { signal } = new AbortController();
  const found: string[] = [];
  const onUnlisted = (prefix: string) => void unlisted.push(prefix);
  for await (const items of connector.list({ checkpoint: null, signal, onUnlisted })) {
    found.push(...items.map(({ sourceId }) => sourceId));
  }
  return found.sort();
}

describe('globs', () => {
  beforeEach(() => put('a.md', 'b.txt', 'docs/c.md', 'docs/deep/d.md', '.hidden/e.md', 'x/[1].md', '.git/config'));

  test.each<[string[], string[], string[]]>([
    [['**'], [], ['.hidden/e.md', 'a.md', 'b.txt', 'docs/c.md', 'docs/deep/d.md', 'x/[1].md']],
    [['**/*.md'], [], ['.hidden/e.md', 'a.md', 'docs/c.md', 'docs/deep/d.md', 'x/[1].md']],
    [['*.md'], [], ['a.md']],
    [['docs/**'], ['**/deep/**'], ['docs/c.md']],
    [['**/*.{md,txt}'], ['docs/**', '.hidden/**'], ['a.md', 'b.txt', 'x/[1].md']],
    [['docs/*.md', 'b.txt'], [], ['b.txt', 'docs/c.md']],
    [['x/\\[1\\].md'], [], ['x/[1].md']],
    [['**'], ['**'], []],
  ])('include %j, exclude %j', async (include, exclude, expected) => {
    expect(await list(open({ include, exclude }))).toEqual(expected);
  });
});

describe('.gitignore', () => {
  test('hides what git hides: patterns, directories, nested files, exceptions', async () => {
    put('a.log', 'a.md', 'build/x.md', 'keep/a.log', 'keep/b.log', 'keep/sub/c.md', 'sub/build/y.md', 'only/root.md');
    putText('.gitignore', '*.log\n/build/\n/only/*\n# comment\n');
    putText('keep/.gitignore', '!a.log\nsub\n');
    const expected = ['.gitignore', 'a.md', 'keep/.gitignore', 'keep/a.log', 'sub/build/y.md'];
    expect(await list(open())).toEqual(expected);
    execFileSync('git', ['init', '--quiet'], { cwd: root });
    const said = execFileSync('git', ['ls-files', '--others', '--exclude-standard'], { cwd: root, encoding: 'utf8' });
    expect(said.trim().split('\n').sort()).toEqual(expected);
    expect(await list(open({ gitignore: false }))).toHaveLength(10);
  });

  test('of parent directories applies too, up to the root of the repository', async () => {
    put('docs/a.md', 'docs/a.tmp', 'docs/gen/b.md');
    putText('.gitignore', '*.tmp\ndocs/gen/\n');
    expect(await list(open({ root: join(root, 'docs') }))).toEqual(['a.md', 'a.tmp', 'gen/b.md']);
    mkdirSync(join(root, '.git'));
    expect(await list(open({ root: join(root, 'docs') }))).toEqual(['a.md']);
  });
});

describe('files that are not regular', () => {
  test('symlinks are not followed unless configured, and then never in a cycle', async () => {
    put('real/a.md', 'outside/b.md');
    symlinkSync(join(root, 'outside/b.md'), join(root, 'real/link.md'));
    symlinkSync(root, join(root, 'real/round'));
    symlinkSync('/nowhere', join(root, 'real/nowhere.md'));
    expect(await list(open({ root: join(root, 'real') }))).toEqual(['a.md']);
    const followed = await list(open({ root: join(root, 'real'), followSymlinks: true }));
    expect(followed).toContain('link.md');
    expect(followed.length).toBeLessThan(10);
  });

  test('a FIFO is not opened', async () => {
    put('a.md');
    execFileSync('mkfifo', [join(root, 'pipe.md')]);
    expect(await list(open())).toEqual(['a.md']);
  });

  test('a .gitignore that is a FIFO, a symlink, a directory or too large has no effect', async () => {
    put('a.md', 'fifo/b.md', 'link/b.md', 'directory/b.md', 'directory/.gitignore/c.md', 'large/b.md', 'rules');
    writeFileSync(join(root, 'rules'), 'b.md\n');
    execFileSync('mkfifo', [join(root, 'fifo/.gitignore')]);
    symlinkSync('../rules', join(root, 'link/.gitignore'));
    symlinkSync('/dev/zero', join(root, '.gitignore'));
    writeFileSync(join(root, 'large/.gitignore'), `b.md\n#${'x'.repeat(1_000_000)}`);
    const names = ['a.md', 'directory/.gitignore/c.md', 'directory/b.md', 'fifo/b.md', 'large/b.md', 'link/b.md'];
    expect(await list(open({ root, include: ['**/*.md'] }))).toEqual(names);
  });

  test('rules that are too slow to match are ignored, and so are directories that are too deep', async () => {
    const deep = 'a/'.repeat(101);
    put('ok/b.md', `${'a/'.repeat(100)}b.md`, `${deep}c.md`, 'ok/ignored.md');
    writeFileSync(join(root, '.gitignore'), `${'a/**/'.repeat(30)}x\n${'**/a'.repeat(30)}\nignored.md\n`);
    const begin = performance.now();
    expect(await list(open({ root, include: ['**/*.md'] }))).toEqual([`${'a/'.repeat(100)}b.md`, 'ok/b.md']);
    expect(performance.now() - begin).toBeLessThan(10_000);
    expect(unlisted).toEqual([deep]);
  });

  test('a symlink that replaces a file or its directory is not read', async () => {
    put('dir/a.md', 'b.md', 'secret/a.md');
    const connector = open({ root, exclude: ['secret/**'] });
    await list(connector);
    for (const path of ['dir', 'b.md']) rmSync(join(root, path), { recursive: true });
    const outside = mkdtempSync(join(tmpdir(), 'substrat-outside-'));
    writeFileSync(join(outside, 'a.md'), 'secret');
    symlinkSync(outside, join(root, 'dir'));
    symlinkSync(join(outside, 'a.md'), join(root, 'b.md'));
    const item = { version: '', size: 1, updatedAt: null };
    expect(await connector.read({ ...item, sourceId: 'dir/a.md' })).toBeNull();
    await expect(connector.read({ ...item, sourceId: 'b.md' })).rejects.toThrow('ELOOP');
    rmSync(outside, { recursive: true });
  });
});

describe('reading', () => {
  test('a file has its bytes, times and location', async () => {
    putText('ä b.md', 'text');
    const read = await open().read({ sourceId: 'ä b.md', version: '', size: 4, updatedAt: null });
    expect(read).toMatchObject({
      bytes: Buffer.from('text'),
      url: expect.stringMatching(/^file:\/\/.*%C3%A4%20b\.md$/),
    });
    expect(read?.updatedAt).toBeGreaterThan(Date.now() - 60_000);
  });

  test('a deleted file is null, one that has become too large is refused', async () => {
    putText('a.md', 'x'.repeat(1001));
    const item = { version: '', size: 1, updatedAt: null };
    expect(await open().read({ ...item, sourceId: 'b.md' })).toBeNull();
    await expect(open().read({ ...item, sourceId: 'a.md' })).rejects.toThrow('1001 bytes');
  });
});

test('a missing root is an error, not an empty source', async () => {
  await expect(list(open({ root: join(root, 'none') }))).rejects.toMatchObject({ code: 'not_found' });
});

test('a root replaced by a symlink out of its bounds is neither listed nor read', async () => {
  put('inner/docs/a.md', 'private/a.md');
  const within = realpathSync(join(root, 'inner'));
  const connector = open({ root: join(within, 'docs'), within });
  expect(await list(connector)).toEqual(['a.md']);
  rmSync(join(within, 'docs'), { recursive: true });
  symlinkSync('../private', join(within, 'docs'));
  const item = { sourceId: 'a.md', version: '', size: 1, updatedAt: null };
  if (process.platform === 'linux') expect(await connector.read(item)).toBeNull();
  await expect(list(connector)).rejects.toMatchObject({ code: 'forbidden' });
});

test.skipIf(process.getuid?.() === 0)(
  'a directory that cannot be read is reported, and the rest is listed',
  async () => {
    put('a.md', 'closed/b.md');
    chmodSync(join(root, 'closed'), 0);
    expect(await list(open())).toEqual(['a.md']);
    chmodSync(join(root, 'closed'), 0o700);
    expect(unlisted).toEqual(['closed/']);
  },
);

test('watching reports a change', async () => {
  put('a.md');
  let tell = () => {};
  const told = new Promise<void>((resolve) => {
    tell = resolve;
  });
  const stop = await open().watch?.(() => tell());
  put('sub/b.md');
  await told;
  await stop?.();
});
