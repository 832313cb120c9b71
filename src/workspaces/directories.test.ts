import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { makeSubdirectory, makeWorkspace } from './directories.ts';
import { makeInside } from './paths.ts';

let root: string;
let workspace: string;
let outside: string;

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'directories-')));
  workspace = join(root, 'workspace');
  outside = join(root, 'outside');
  for (const directory of [workspace, outside]) mkdirSync(directory);
});
afterEach(() => rmSync(root, { recursive: true }));

describe('makeSubdirectory()', () => {
  test('makes what is missing, and undoes only that', async () => {
    mkdirSync(join(workspace, 'there'));
    const undo = await makeSubdirectory(workspace, 'there/a/b');
    expect(lstatSync(join(workspace, 'there/a/b')).isDirectory()).toBe(true);
    writeFileSync(join(workspace, 'there/a/kept'), '');
    await undo();
    expect(readdirSync(join(workspace, 'there/a'))).toEqual(['kept']);
  });

  test('leaves a directory alone that took the place of the one it made', async () => {
    const undo = await makeSubdirectory(workspace, 'a');
    mkdirSync(join(workspace, 'b'));
    rmSync(join(workspace, 'a'), { recursive: true });
    mkdirSync(join(workspace, 'c'));
    mkdirSync(join(workspace, 'a'));
    await undo();
    expect(readdirSync(workspace)).toEqual(expect.arrayContaining(['b', 'c']));
  });

  test.each([
    ['a link', (path: string) => symlinkSync(outside, path), /a is a symbolic link/],
    ['a dangling link', (path: string) => symlinkSync(join(outside, 'gone'), path), /a is a symbolic link/],
    ['a file', (path: string) => writeFileSync(path, ''), /a is not a directory/],
  ])('refuses %s on the way, and makes nothing', async (_, put, sentence) => {
    mkdirSync(join(workspace, 'x'));
    put(join(workspace, 'x/a'));
    for (const subdir of ['x/a', 'x/a/b', 'x/a/b/c']) {
      await expect(makeSubdirectory(workspace, subdir)).rejects.toThrow(sentence);
      expect(() => makeInside(workspace, join(workspace, subdir))).toThrow(sentence);
    }
    expect([readdirSync(outside), readdirSync(workspace)]).toEqual([[], ['x']]);
  });

  test.each(['../x', '/etc', 'a/../../x', 'a\0b'])('refuses %j', async (subdir) => {
    await expect(makeSubdirectory(workspace, subdir)).rejects.toThrow('inside your own workspace');
  });

  test('says why it cannot be made', async () => {
    await expect(makeSubdirectory(workspace, 'x'.repeat(300))).rejects.toThrow('cannot be made: ENAMETOOLONG');
    await expect(makeSubdirectory(join(root, 'gone'), 'a')).rejects.toThrow(/There is no directory .*gone/);
  });
});

describe('makeWorkspace()', () => {
  test('follows a link of the person, and none in what is missing', async () => {
    symlinkSync(workspace, join(root, 'link'));
    const undo = await makeWorkspace(join(root, 'link/new/deep'));
    expect(existsSync(join(workspace, 'new/deep'))).toBe(true);
    await undo();
    expect(readdirSync(workspace)).toEqual([]);
    symlinkSync(join(outside, 'gone'), join(root, 'dangling'));
    await expect(makeWorkspace(join(root, 'dangling/x'))).rejects.toThrow(/is a symbolic link/);
    expect(readdirSync(outside)).toEqual([]);
  });
});

/** `a` is a directory and a link to the outside by turns, thousands of times a second. */
describe.runIf(process.platform === 'linux')('while a program swaps a directory with a link', () => {
  const ATTEMPTS = 1500;
  const DEEP = '1/2/3';
  let racer: ChildProcess;

  beforeEach(async () => {
    // In memory, so that most of the time goes into what is raced for.
    workspace = mkdtempSync('/dev/shm/workspace-');
    outside = mkdtempSync('/dev/shm/outside-');
    mkdirSync(join(workspace, 'a'));
    symlinkSync(outside, join(workspace, 'b'));
    const renameat2 = process.arch === 'x64' ? 316 : 276;
    const swap = `my ($a, $b) = ("a", "b"); $| = 1; print "up\\n"; while (1) { syscall ${renameat2}, -100, $a, -100, $b, 2 }`;
    racer = spawn('perl', ['-e', swap], { cwd: workspace, stdio: ['ignore', 'pipe', 'inherit'] });
    await once(racer.stdout as NodeJS.ReadableStream, 'data');
  });
  afterEach(async () => {
    racer.kill('SIGKILL');
    await once(racer, 'exit');
    for (const directory of [workspace, outside]) rmSync(directory, { recursive: true });
  });

  test('nothing is made outside', async () => {
    let made = 0;
    for (let n = 0; n < ATTEMPTS; n += 1) {
      const subdir = `a/pwned-${n}/${DEEP}`;
      const path = join(workspace, subdir);
      try {
        if (n % 2) await makeSubdirectory(workspace, subdir);
        else makeInside(workspace, path);
        made += 1;
      } catch (error) {
        expect((error as Error).message).toMatch(/symbolic link|no directory|ELOOP|ENOENT/);
      }
    }
    expect(readdirSync(outside)).toEqual([]);
    expect(made).toBeGreaterThan(0);
  });

  test('nothing is removed outside', async () => {
    const kept = Array.from({ length: ATTEMPTS }, (_, n) => `kept-${n}`);
    for (const name of kept) mkdirSync(join(outside, name, DEEP), { recursive: true });
    for (const name of kept) {
      try {
        const undo = await makeSubdirectory(workspace, `a/${name}/${DEEP}`);
        await undo();
      } catch {
        // The link was seen.
      }
    }
    expect(kept.filter((name) => !existsSync(join(outside, name, DEEP)))).toEqual([]);
  });
});
