import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { removeTree } from './remove-tree.ts';

function place(parent = tmpdir()): string {
  const directory = mkdtempSync(join(parent, 'remove-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** The most that this thread worked without a pause, in milliseconds. */
async function longestWork(work: () => Promise<void>): Promise<number> {
  let [longest, last] = [0, process.threadCpuUsage()];
  const look = () => {
    const { user, system } = process.threadCpuUsage(last);
    longest = Math.max(longest, (user + system) / 1000);
    last = process.threadCpuUsage();
  };
  const timer = setInterval(look, 1);
  await work();
  look();
  clearInterval(timer);
  return longest;
}

describe('removeTree()', () => {
  test('removes a directory full of names without blocking', async () => {
    // In memory, because making them is slow elsewhere.
    const directory = join(place(existsSync('/dev/shm') ? '/dev/shm' : tmpdir()), 'full');
    mkdirSync(directory);
    for (let n = 0; n < 50_000; n += 1) closeSync(openSync(join(directory, `a-name-${n}`), 'w'));
    expect(await longestWork(() => removeTree(directory))).toBeLessThan(100);
    expect(existsSync(directory)).toBe(false);
  });

  test('removes what is deeper than a path can be long, and follows no link', async () => {
    const directory = place();
    mkdirSync(join(directory, 'kept/inside'), { recursive: true });
    mkdirSync(join(directory, 'deep'));
    symlinkSync(join(directory, 'kept'), join(directory, 'deep/link'));
    for (let n = 0; n < 30; n += 1) {
      mkdirSync(join(directory, 'next'));
      renameSync(join(directory, 'deep'), join(directory, 'next', 'n'.repeat(200)));
      renameSync(join(directory, 'next'), join(directory, 'deep'));
    }
    await removeTree(join(directory, 'deep'));
    symlinkSync(join(directory, 'kept'), join(directory, '-rf'));
    await removeTree(join(directory, '-rf'));
    expect(readdirSync(directory)).toEqual(['kept']);
    expect(readdirSync(join(directory, 'kept'))).toEqual(['inside']);
  });

  test('says why something stays, and nothing about what does not exist', async () => {
    await removeTree(join(place(), 'nothing'));
    await expect(removeTree('/proc/self')).rejects.toThrow(/^\/proc\/self could not be removed: rm: /);
  });
});
