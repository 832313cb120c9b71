import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { betweenCalls } from '../../test/helpers/between-calls.ts';
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
  test('creates missing directories, and undo removes only those', async () => {
    mkdirSync(join(workspace, 'there'));
    const undo = await makeSubdirectory(workspace, 'there/a/b');
    expect(lstatSync(join(workspace, 'there/a/b')).isDirectory()).toBe(true);
    writeFileSync(join(workspace, 'there/a/kept'), '');
    await undo();
    expect(readdirSync(join(workspace, 'there/a'))).toEqual(['kept']);
  });

  test('does not remove a directory that replaced the one it created', async () => {
    const undo = await makeSubdirectory(workspace, 'a');
    // Created while the first one exists, so that it has another inode.
    mkdirSync(join(workspace, 'b'));
    rmSync(join(workspace, 'a'), { recursive: true });
    renameSync(join(workspace, 'b'), join(workspace, 'a'));
    await undo();
    expect(readdirSync(workspace)).toEqual(['a']);
  });

  test.each([
    ['a link', (path: string) => symlinkSync(outside, path), /a is a symbolic link/],
    ['a dangling link', (path: string) => symlinkSync(join(outside, 'gone'), path), /a is a symbolic link/],
    ['a file', (path: string) => writeFileSync(path, ''), /a is not a directory/],
  ])('refuses %s in the path and creates nothing', async (_, put, sentence) => {
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

  test('reports why it cannot be created', async () => {
    await expect(makeSubdirectory(workspace, 'x'.repeat(300))).rejects.toThrow('cannot be created: ENAMETOOLONG');
    await expect(makeSubdirectory(join(root, 'gone'), 'a')).rejects.toThrow(/There is no directory .*gone/);
  });
});

describe('makeWorkspace()', () => {
  test('follows a symlink of the person, but none in missing directories', async () => {
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

/** At each step of the work, `a` is replaced by a symlink to the outside, temporarily or for good. */
describe.runIf(process.platform === 'linux')('while a program swaps a directory with a symlink', () => {
  const DEEP = 'new/1/2';
  const swap = () => {
    renameSync(join(workspace, 'a'), join(workspace, 'c'));
    renameSync(join(workspace, 'b'), join(workspace, 'a'));
    renameSync(join(workspace, 'c'), join(workspace, 'b'));
  };

  beforeEach(() => {
    mkdirSync(join(workspace, 'a'));
    symlinkSync(outside, join(workspace, 'b'));
  });

  /** Runs every step and duration; resolves with the number of runs and of successes. */
  async function race(work: () => Promise<unknown>, check: () => void) {
    const counts = { made: 0, refused: 0 };
    for (const time of [1, 2, 3, 4, Number.POSITIVE_INFINITY]) {
      for (let moment = 0, calls = 1; moment < calls; moment += 1) {
        calls = await betweenCalls(
          () =>
            work().then(
              () => (counts.made += 1),
              (error: Error) => {
                expect(error.message).toMatch(/symbolic link|no directory|ELOOP|ENOENT/);
                counts.refused += 1;
              },
            ),
          (call) => {
            if (call === moment || call === moment + time) swap();
          },
        );
        if (lstatSync(join(workspace, 'a')).isSymbolicLink()) swap();
        check();
        rmSync(join(workspace, 'a'), { recursive: true });
        mkdirSync(join(workspace, 'a'));
      }
    }
    return counts;
  }

  test.each([
    ['makeSubdirectory()', () => makeSubdirectory(workspace, `a/${DEEP}`)],
    ['makeInside()', async () => makeInside(workspace, join(workspace, 'a', DEEP))],
  ])('%s creates nothing outside', async (_, make) => {
    const counts = await race(make, () => expect(readdirSync(outside)).toEqual([]));
    expect(Math.min(counts.made, counts.refused)).toBeGreaterThan(5);
  });

  test('nothing is removed outside', async () => {
    mkdirSync(join(outside, DEEP), { recursive: true });
    const counts = await race(
      async () => (await makeSubdirectory(workspace, `a/${DEEP}`))(),
      () => expect(existsSync(join(outside, DEEP))).toBe(true),
    );
    expect(counts.made).toBeGreaterThan(5);
  });
});
